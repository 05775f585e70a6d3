/**
 * One placement on one target, from mounting to clearing: frame, label, viewability, playback, beacons and consent
 * expiry. `close` closes everything that was opened.
 */
import type { AuthoritativeConsent } from '../../../src/contract/fields.ts'
import type { BeaconEvent, Measurements } from '../../../src/contract/resources/beacons.ts'
import type { Placement } from '../../../src/contract/resources/placements.ts'
import { createFloodCheck, type FrameMessage, type HostMessage, type Init, readFrameMessage } from '../messages.ts'
import { openBeacons } from './beacons.ts'
import { type ConsentReason, isConsentReason, watchExpiry } from './consent.ts'
import { type Clip, isPageVisible, unplayed, updateClip, watchViewability } from './measurement.ts'
import { type ErrorCode, newId, type Renderer, setStyles } from './renderer.ts'

const heartbeat_interval_ms = 10_000
const max_heartbeats = 30
/** Enough for any template when the host has set no limit, CSS pixels. */
const default_max_height = 640

interface MountOptions {
  target: Element
  placement: Placement
  consent: AuthoritativeConsent
  session_id: string
  turn_id?: string | undefined
  slot_id?: string | undefined
  /** The host's own credential for beacons, instead of the frame's. */
  beacon_token?: string | undefined
  /** Maximum height of a native frame, CSS pixels. */
  max_height?: number | undefined
  /** Each is called once, in this order. */
  onRendered?: () => void
  onViewed?: () => void
  onCleared?: (outcome: MountOutcome) => void
}

type MountOutcome = 'cleared' | 'failed' | 'blocked'

export interface Mount {
  readonly state: 'mounting' | 'rendered' | MountOutcome
  /** Whether its dwell is met, or cannot be measured. */
  readonly isViewed: boolean
  clear(reason: string): void
}

export function mountPlacement(renderer: Renderer, options: MountOptions): Mount {
  const { clock, consents, events } = renderer
  const { target, placement, consent, session_id, slot_id } = options
  const { render } = placement
  const instance_id = newId('ri_')
  const isClip = render.media_type === 'video'
  const emit = events.within({ turn_id: options.turn_id, slot_id, instance_id })
  const listening = new AbortController()

  let state: Mount['state'] = 'mounting'
  let isViewed = false
  let isClicked = false
  let frame_token: string | null = null
  let clip: Clip = unplayed
  let heartbeats = 0
  let heartbeat: ReturnType<typeof setInterval> | undefined

  const isOpen = (): boolean => state === 'mounting' || state === 'rendered'

  function close(outcome: MountOutcome, reason: string): void {
    if (!isOpen()) return
    state = outcome
    listening.abort()
    clearInterval(heartbeat)
    expiry.close()
    closeLabel()
    removal.disconnect()
    viewability.close()
    frame.close()
    beacons.close()
    wrapper.remove()
    emit('cleared', { reason })
    options.onCleared?.(outcome)
  }
  function fail(code: ErrorCode): void {
    if (!isOpen()) return
    emit('error', { code })
    close('failed', code)
  }
  function block(reason: ConsentReason): void {
    if (!isOpen()) return
    renderer.block(reason, emit)
    close('blocked', reason)
  }
  /** Returns whether consent is valid now. If not, the ad is cleared with a `blocked` event. */
  function isPermitted(): boolean {
    const reason = consents.problem(consent, session_id)
    if (reason !== null) block(reason)
    return reason === null
  }

  const beacons = openBeacons({
    base_url: new URL(render.frame_url).origin,
    token: () => options.beacon_token ?? frame_token ?? renderer.activation?.result().activation_token ?? null,
    isPermitted,
    now: clock.now,
    asset_token: placement.asset_token,
    slot_id,
    instance_id,
    consent_revision: consent.revision,
    onResult: (event, accepted, reason_code) => {
      emit('beacon', { event, accepted, reason_code })
      if (!accepted && isConsentReason(reason_code)) block(reason_code)
    },
  })
  const send = (event: BeaconEvent, more: Measurements = {}, count?: number): void => {
    const playback: Measurements = isClip
      ? { position_ms: clip.position_ms, duration_ms: clip.duration_ms, muted: clip.muted }
      : {}
    beacons.send(event, { ...viewability.measure(), ...playback, ...more }, count)
  }

  const handlers: { [T in FrameMessage['t']]: (message: Extract<FrameMessage, { t: T }>) => void } = {
    ready: ({ beacon_token, server_time_ms, media_type }) => {
      if (media_type !== render.media_type) return fail('media_type_mismatch')
      frame_token = beacon_token
      clock.setServerTime(server_time_ms)
      expiry.rearm()
      postVisibility()
    },
    rendered: () => {
      if (state !== 'mounting' || !isPermitted()) return
      state = 'rendered'
      send('render')
      heartbeat = setInterval(beat, heartbeat_interval_ms)
      options.onRendered?.()
      // Last, since a listener may end the turn.
      emit('rendered', {})
      viewability.check()
    },
    resize: ({ height }) => {
      const max_height = options.max_height ?? Math.max(2 * render.height, default_max_height)
      if (render.media_type === 'native') frame.resize(Math.min(height, max_height))
    },
    click: ({ user_activated }) => {
      if (isClicked) return
      isClicked = true
      emit('click', { user_activated })
      send('click', { user_activated })
    },
    media: (message) => {
      if (!isClip) return
      const before = clip
      clip = updateClip(before, message, performance.now())
      if (clip.isStarted && !before.isStarted) {
        emit('play_started', {})
        send('play_started')
      }
      if (clip.isCompleted && !before.isCompleted) {
        emit('play_completed', {})
        send('play_completed')
      }
      viewability.check()
    },
    error: ({ code }) => {
      if (code === 'autoplay_blocked') emit('error', { code })
      else if (isConsentReason(code)) block(code)
      else fail(code as ErrorCode)
    },
  }
  const frame = openFrame(render, instance_id, (message) => isOpen() && handlers[message.t](message as never), fail)

  const viewability = watchViewability(
    frame.element,
    isClip,
    () => state === 'rendered' && (!isClip || clip.isPlaying),
    postVisibility,
    (measurements) => {
      if (!isPermitted()) return
      isViewed = true
      emit('visible', {})
      send('visible', measurements)
      options.onViewed?.()
    },
  )
  if (!viewability.isMeasurable) {
    isViewed = true
    emit('error', { code: 'unmeasurable' })
  }

  function postVisibility(): void {
    const { visible_ratio: ratio, page_visible } = viewability.measure()
    frame.post({ t: 'visibility', ratio, page_visible })
  }
  function beat(): void {
    if (heartbeats >= max_heartbeats || !isPageVisible() || !isPermitted()) return
    heartbeats += 1
    send('heartbeat', {}, heartbeats)
  }

  const wrapper = document.createElement('div')
  wrapper.dataset.spPlacement = instance_id
  setStyles(wrapper, {
    all: 'initial',
    display: 'block',
    width: '100%',
    'max-width': `${render.width}px`,
    visibility: 'inherit',
    'color-scheme': 'inherit',
  })
  wrapper.append(frame.element)
  const closeLabel = keepLabel(wrapper, render.label_text, render.sponsor_name, () => fail('label_removed'))
  target.append(wrapper)
  // Follows the page's color-scheme where it declares one; elsewhere the frame follows the system.
  if (getComputedStyle(target).colorScheme !== 'normal') setStyles(frame.element, { 'color-scheme': 'inherit' })

  const expiry = watchExpiry(consent.expires_at_ms, clock.now, () => block('consent_expired'))
  // A frame that was taken out, even if it was put back at once, has lost its document: it has another window, or none.
  let { contentWindow } = frame.element
  const removal = new MutationObserver(() => {
    if (contentWindow && contentWindow !== frame.element.contentWindow) close('cleared', 'target_removed')
    contentWindow = frame.element.contentWindow
  })
  for (let root: Node | undefined = target; root; root = (root as ShadowRoot).host) {
    root = root.getRootNode()
    removal.observe(root, { childList: true, subtree: true })
  }
  // A target may be appended to the document later.
  removal.observe(document, { childList: true, subtree: true })

  const { signal } = listening
  document.addEventListener(
    'visibilitychange',
    () => {
      postVisibility()
      if (isPageVisible()) return viewability.check()
      viewability.reset()
      beacons.flush()
    },
    { signal },
  )
  document.addEventListener('freeze', () => viewability.reset(), { signal })
  addEventListener('pagehide', () => close('cleared', 'pagehide'), { signal })

  return {
    get state() {
      return state
    },
    get isViewed() {
      return isViewed
    },
    clear: (reason) => close('cleared', reason),
  }
}

type Timer = ReturnType<typeof setTimeout>

const ready_timeout_ms = 3_000
const rendered_timeout_ms = 5_000

/**
 * Opens what is drawn for a placement: its one iframe, with the port to it, and the ad label outside of it.
 *
 * `load` fires even when a policy has blocked the document, so only messages with the nonce count: `ready` within 3 s
 * of loading, `rendered` within 5 s of mounting. After a second load the document is no longer ours.
 */
function openFrame(
  render: Placement['render'],
  instance_id: string,
  onMessage: (message: FrameMessage) => void,
  onFailure: (code: ErrorCode) => void,
) {
  const element = drawFrame(render)
  const nonce = newId('')
  const isFlood = createFloodCheck()
  let port: MessagePort | undefined
  let readyTimer: Timer | undefined
  const timeOut = (): void => onFailure('render_timeout')
  const renderedTimer = setTimeout(timeOut, rendered_timeout_ms)

  const receive = ({ data }: MessageEvent): void => {
    if (isFlood(performance.now())) {
      onFailure('message_flood')
      return
    }
    const message = readFrameMessage(data, nonce)
    if (!message) return
    if (message.t === 'ready') clearTimeout(readyTimer)
    if (message.t === 'rendered') clearTimeout(renderedTimer)
    onMessage(message)
  }
  element.onload = () => {
    if (port) {
      onFailure('frame_reloaded')
      return
    }
    const channel = new MessageChannel()
    port = channel.port1
    port.onmessage = receive
    readyTimer = setTimeout(timeOut, ready_timeout_ms)
    const init: Init = { t: 'sp:init', v: 1, nonce, instance_id }
    element.contentWindow?.postMessage(init, '*', [channel.port2])
  }

  return {
    element,
    post: (message: HostMessage): void => port?.postMessage(message),
    resize: (height: number): void => setStyles(element, { height: `${height}px`, 'aspect-ratio': 'auto' }),
    close: () => {
      clearTimeout(readyTimer)
      clearTimeout(renderedTimer)
      element.onload = null
      port?.postMessage({ t: 'teardown' } satisfies HostMessage)
      port?.close()
    },
  }
}

function drawFrame({ frame_url, sponsor_name, width, height }: Placement['render']): HTMLIFrameElement {
  const element = Object.assign(document.createElement('iframe'), {
    title: `Sponsored: ${sponsor_name}`,
    sandbox: 'allow-scripts allow-popups allow-popups-to-escape-sandbox',
    referrerPolicy: 'no-referrer',
    allow: 'autoplay',
    loading: 'eager',
    width,
    height,
    src: frame_url,
  })
  setStyles(element, {
    all: 'initial',
    display: 'block',
    width: `${width}px`,
    'max-width': '100%',
    'aspect-ratio': `${width} / ${height}`,
    visibility: 'inherit',
    'color-scheme': 'light dark',
  })
  return element
}

/** A page that keeps removing the label loses the ad. */
const max_restored = 10

/** Draws the label into `wrapper` and restores it when something removes or changes it. Returns a function that stops watching. */
function keepLabel(wrapper: HTMLElement, text: string, sponsor_name: string, onDefeat: () => void): () => void {
  let label = wrapper.insertBefore(drawLabel(text, sponsor_name), wrapper.firstChild)
  const drawn = label.outerHTML
  let restored = 0
  const observer = new MutationObserver(() => {
    for (const name of ['aria-hidden', 'inert']) wrapper.removeAttribute(name)
    if (wrapper.firstChild === label && label.outerHTML === drawn) return
    restored += 1
    if (restored > max_restored) return onDefeat()
    label.remove()
    label = wrapper.insertBefore(drawLabel(text, sponsor_name), wrapper.firstChild)
  })
  observer.observe(wrapper, { childList: true, subtree: true, characterData: true, attributes: true })
  return () => observer.disconnect()
}

function drawLabel(text: string, sponsor_name: string): HTMLElement {
  const label = document.createElement('div')
  label.dataset.spLabel = ''
  label.dir = 'auto'
  const kind = document.createElement('strong')
  kind.textContent = text
  setStyles(kind, { all: 'unset', 'font-weight': '650' })
  label.append(kind, ` · ${sponsor_name}`)
  setStyles(label, {
    all: 'initial',
    display: 'block',
    width: 'fit-content',
    'max-width': '100%',
    margin: '0 0 6px',
    padding: '1px 8px',
    'border-radius': '6px',
    background: '#f1f1f4',
    color: '#3f3f46',
    font: '12px/18px system-ui, sans-serif',
    'box-sizing': 'border-box',
    'overflow-wrap': 'anywhere',
  })
  // In browsers with light-dark(), the label follows the page's color-scheme.
  setStyles(label, {
    'color-scheme': 'inherit',
    background: 'light-dark(#f1f1f4, #2f2f35)',
    color: 'light-dark(#3f3f46, #e4e4e7)',
  })
  return label
}
