/**
 * One placement on one target, from mounting to clearing: frame, label, viewability, playback, beacons and consent
 * expiry. `close` closes everything that was opened.
 *
 * Label and frame are in a shadow root: a copy of the page, by a carousel or a history cache, holds an empty element.
 */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { BeaconEvent, Measurements } from '#contract/resources/beacons.ts'
import type { Placement } from '#contract/resources/placements.ts'
import type { FrameMessage } from '../messages.ts'
import { type openBeaconQueue, openBeacons } from './beacons.ts'
import { type ConsentReason, isConsentReason, watchExpiry } from './consent.ts'
import { findShadowHost, isPageVisible, newId, removeCopies, setStyles } from './dom.ts'
import type { ErrorCode } from './events.ts'
import { openFrame } from './frame.ts'
import { keepLabel } from './label.ts'
import { type Clip, unplayed, updateClip, watchViewability } from './measurement.ts'
import type { Renderer } from './renderer.ts'

const heartbeatIntervalMs = 10_000
const maxHeartbeats = 30
const labelIntervalMs = 1_000
/** Enough for any template when the host has set no limit, CSS pixels. */
const defaultMaxHeight = 640

/** The renderer, and what all ads of a page share. */
export interface MountContext extends Renderer {
  queue: ReturnType<typeof openBeaconQueue>
  /** Returns what was already sent of a placement: it is counted once, however often it is mounted. */
  findDelivery(asset_token: string, open: () => Delivery): Delivery
  /** Calls back when an element that has left the document is in it again. */
  whenAttached(element: Element, listener: () => void): void
}

export interface MountOptions {
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
  /** Called when the service no longer knows the placement, of a turn that was mounted before. */
  onExpired?: () => void
  /** Each is called once, in this order. */
  onRendered?: () => void
  onViewed?: () => void
  onCleared?: (outcome: MountOutcome, reason: string) => void
  /** Called when the target is in the document again, after it was cleared because it had left or was moved. */
  onReturned?: () => void
}

type MountOutcome = 'cleared' | 'failed' | 'blocked'

export interface Mount {
  readonly state: 'mounting' | 'rendered' | MountOutcome
  /** Whether its dwell is met, or cannot be measured. */
  readonly isViewed: boolean
  clear(reason: string): void
}

/** What all mounts of one placement share: it is counted once, however often it is mounted. */
export interface Delivery {
  readonly instance_id: string
  send: ReturnType<typeof openBeacons>
  heartbeats: number
  isViewed: boolean
  frame_token: string | null
  beacon_token: string | undefined
  /** The mount that shows it now. */
  holder: { block(reason: ConsentReason): void; clear(reason: string): void } | null
}

function openDelivery(context: MountContext, options: MountOptions): Delivery {
  const { clock, consents, events, queue, violations } = context
  const { placement, consent, session_id, slot_id, turn_id } = options
  const { asset_token } = placement
  const instance_id = newId('ri_')
  const emit = events.within({ turn_id, slot_id, instance_id })
  const delivery: Delivery = {
    instance_id,
    heartbeats: 0,
    isViewed: false,
    frame_token: null,
    beacon_token: undefined,
    holder: null,
    send: openBeacons(queue, {
      base_url: new URL(placement.render.frame_url).origin,
      tokens: () => [delivery.beacon_token, delivery.frame_token, context.activation?.result().activation_token],
      isPermitted: () => {
        const reason = consents.problem(consent, session_id)
        if (reason !== null) delivery.holder?.block(reason)
        return reason === null
      },
      isBlocked: () => violations.find('connect-src', placement.render.frame_url) !== null,
      now: clock.now,
      asset_token,
      slot_id,
      turn_id,
      instance_id,
      consent_revision: consent.revision,
      onResult: (event, accepted, reason_code) => {
        emit('beacon', { event, accepted, reason_code })
        if (!accepted && isConsentReason(reason_code)) delivery.holder?.block(reason_code)
      },
    }),
  }
  return delivery
}

let ownSheet: CSSStyleSheet | undefined

/** Keeps the ::before and ::after of the page's style sheets away from an ad. Browsers before 2023 cannot, and show them. */
function keepMarksOut(root: ShadowRoot): void {
  if (!('adoptedStyleSheets' in root)) return
  if (!ownSheet) {
    ownSheet = new CSSStyleSheet()
    ownSheet.replaceSync(':host::before,:host::after{content:none!important}')
  }
  root.adoptedStyleSheets = [ownSheet]
}

export function mountPlacement(context: MountContext, options: MountOptions): Mount {
  const { clock, consents, events, violations } = context
  const { target, placement, consent, session_id, slot_id } = options
  const { render, asset_token } = placement
  const delivery = context.findDelivery(asset_token, () => openDelivery(context, options))
  delivery.beacon_token = options.beacon_token
  delivery.holder?.clear('replaced')
  const { instance_id } = delivery
  const isClip = render.media_type === 'video'
  const emit = events.within({ turn_id: options.turn_id, slot_id, instance_id })
  const listening = new AbortController()

  let state: Mount['state'] = 'mounting'
  let isClicked = false
  let clip: Clip = unplayed
  const intervals: ReturnType<typeof setInterval>[] = []

  const isOpen = (): boolean => state === 'mounting' || state === 'rendered'

  function close(outcome: MountOutcome, reason: string): void {
    if (!isOpen()) return
    state = outcome
    delivery.holder = null
    listening.abort()
    intervals.forEach(clearInterval)
    expiry.close()
    label.close()
    removal.disconnect()
    stopViolations()
    viewability.close()
    frame.close()
    // The target has left, or was moved. A page that takes the frame out of it alone wants no ad.
    const isGone = reason === 'target_removed' && frame.element.parentNode === root
    frame.element.remove()
    if (isGone) root.replaceChildren()
    else {
      wrapper.remove()
      removeCopies(document, instance_id)
    }
    emit('cleared', { reason })
    options.onCleared?.(outcome, reason)
    if (isGone && options.onReturned) context.whenAttached(wrapper, options.onReturned)
  }
  function fail(code: ErrorCode, details: object = {}): void {
    if (!isOpen()) return
    emit('error', { code, ...details })
    close('failed', code)
  }
  function block(reason: ConsentReason): void {
    if (!isOpen()) return
    emit('blocked', { reason })
    close('blocked', reason)
  }
  /** Returns whether consent is valid now. If not, the ad is cleared with a `blocked` event. */
  function isPermitted(): boolean {
    const reason = consents.problem(consent, session_id)
    if (reason !== null) block(reason)
    return reason === null
  }
  delivery.holder = { block, clear: (reason) => close('cleared', reason) }

  const send = (event: BeaconEvent, more: Measurements = {}, count?: number): boolean => {
    const playback: Measurements = isClip
      ? { position_ms: clip.position_ms, duration_ms: clip.duration_ms, muted: clip.muted }
      : {}
    return delivery.send(event, { ...viewability.measure(), ...playback, ...more }, count)
  }

  const handlers: { [T in FrameMessage['t']]: (message: Extract<FrameMessage, { t: T }>) => void } = {
    ready: ({ beacon_token, server_time_ms, media_type }) => {
      if (media_type !== render.media_type) return fail('media_type_mismatch')
      delivery.frame_token = beacon_token
      clock.setServerTime(server_time_ms)
      if (!isPermitted()) return
      setStyles(wrapper, { visibility: 'inherit' })
      expiry.rearm()
      postVisibility()
    },
    rendered: () => {
      if (state !== 'mounting' || !isPermitted()) return
      state = 'rendered'
      send('render')
      intervals.push(setInterval(beat, heartbeatIntervalMs), setInterval(label.check, labelIntervalMs))
      options.onRendered?.()
      // Last, since a listener may end the turn.
      emit('rendered', {})
      viewability.check()
    },
    resize: ({ height }) => {
      const max_height = options.max_height ?? Math.max(2 * render.height, defaultMaxHeight)
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
      if (clip.isStarted && !before.isStarted && send('play_started')) emit('play_started', {})
      if (clip.isCompleted && !before.isCompleted && send('play_completed')) emit('play_completed', {})
      viewability.check()
    },
    error: ({ code }) => {
      if (code === 'autoplay_blocked') emit('error', { code })
      else if (isConsentReason(code)) block(code)
      else if (options.onExpired && code.startsWith('asset_token_')) options.onExpired()
      else fail(code as ErrorCode)
    },
  }
  const frame = openFrame(render, instance_id, (message) => isOpen() && handlers[message.t](message as never), fail)

  const viewability = watchViewability({
    frame: frame.element,
    isClip,
    declared: render,
    isCounting: () => !delivery.isViewed && state === 'rendered' && (!isClip || clip.isPlaying),
    onRatioChange: postVisibility,
    onViewed: (measurements) => {
      if (!label.check() || !isPermitted()) return
      delivery.isViewed = true
      emit('visible', {})
      send('visible', measurements)
      options.onViewed?.()
    },
  })
  if (!viewability.isMeasurable && !delivery.isViewed) {
    delivery.isViewed = true
    emit('error', { code: 'unmeasurable' })
  }

  function postVisibility(): void {
    const { visible_ratio: ratio, page_visible } = viewability.measure()
    frame.post({ t: 'visibility', ratio, page_visible })
  }
  function beat(): void {
    if (delivery.heartbeats >= maxHeartbeats || !isPageVisible() || !isPermitted()) return
    delivery.heartbeats += 1
    send('heartbeat', {}, delivery.heartbeats)
  }

  removeCopies(target)
  const wrapper = document.createElement('div')
  wrapper.dataset.spPlacement = instance_id
  // While only a wrong clock may forbid it, the ad stays invisible until its frame has sent the time.
  const isDoubtful = consents.problem(consent, session_id) !== null
  setStyles(wrapper, {
    all: 'initial',
    // Not a block: the ::first-letter and ::first-line of the page would reach into it.
    display: 'grid',
    width: '100%',
    'max-width': `${render.width}px`,
    font: '12px/1.5 system-ui, sans-serif',
    visibility: isDoubtful ? 'hidden' : 'inherit',
    'color-scheme': 'inherit',
  })
  const root = wrapper.attachShadow({ mode: 'open' })
  keepMarksOut(root)
  root.append(frame.element)
  const names = [render.label_text, render.sponsor_name] as const
  const label = keepLabel(frame.element, names, () => fail('label_removed'))
  target.append(wrapper)
  // Follows the page's color-scheme where it declares one; elsewhere the frame follows the system.
  const meta = document.querySelector<HTMLMetaElement>('meta[name="color-scheme"]')?.content
  const scheme = getComputedStyle(target).colorScheme !== 'normal' ? 'inherit' : meta
  if (scheme) setStyles(frame.element, { 'color-scheme': scheme })

  const expiry = watchExpiry(consent.expires_at_ms, clock.now, () => block('consent_expired'))
  if (!isDoubtful) expiry.rearm()
  const stopViolations = violations.on(() => {
    const violation = violations.find('frame-src', render.frame_url)
    if (violation && state === 'mounting') fail(violation.code, violation)
  })
  // A frame that was taken out, even if it was put back at once, has lost its document: it has another window, or none.
  let { contentWindow } = frame.element
  const removal = new MutationObserver(() => {
    if (contentWindow && contentWindow !== frame.element.contentWindow) close('cleared', 'target_removed')
    contentWindow = frame.element.contentWindow
  })
  for (let around: Element | null = target; around; around = findShadowHost(around)) {
    removal.observe(around.getRootNode(), { childList: true, subtree: true })
  }
  // A target may be appended to the document later.
  removal.observe(document, { childList: true, subtree: true })

  const { signal } = listening
  document.addEventListener(
    'visibilitychange',
    () => {
      postVisibility()
      if (isPageVisible()) viewability.check()
      else viewability.reset()
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
      return delivery.isViewed
    },
    clear: (reason) => close('cleared', reason),
  }
}
