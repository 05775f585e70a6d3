/**
 * One placement on one target, from mounting to clearing: frame, label, viewability, playback, beacons and consent
 * expiry.
 *
 * Label and frame are in a shadow root: a copy of the page, by a carousel or a history cache, holds an empty element.
 */
import type { BeaconEvent, Measurements } from '#contract/resources/beacons.ts'
import type { FrameMessage } from '../../messages.ts'
import { isConsentReason, watchExpiry } from '../consent.ts'
import { isPageVisible, setStyles } from '../dom.ts'
import type { ErrorCode } from '../events.ts'
import { openFrame } from './frame.ts'
import { keepLabel } from './label.ts'
import { unplayed, updateClip, watchViewability } from './measurement.ts'
import {
  block,
  close,
  fail,
  isOpen,
  isPermitted,
  type Mount,
  type MountContext,
  type MountOptions,
  type OpenMount,
} from './mount.ts'

const heartbeatIntervalMs = 10_000
const maxHeartbeats = 30
/** Enough for any template when the host has set no limit, CSS pixels. */
const defaultMaxHeight = 640

export function mountPlacement(context: MountContext, options: MountOptions): Mount {
  const { placement, consent, session_id, turn_id, slot_id } = options
  const { render } = placement
  const delivery = context.findDelivery(options)
  delivery.beacon_token = options.beacon_token
  delivery.holder?.clear('replaced')
  const { instance_id } = delivery
  const frame = openFrame(context, render, instance_id, {
    onMessage: (message) => isOpen(mount) && handlers[message.t](mount, message as never),
    onFailure: (code, details) => fail(mount, code, details),
  })
  const { element } = frame
  // While only a wrong clock may forbid it, the ad stays invisible until its frame has sent the time.
  const isDoubtful = context.consents.problem(consent, session_id) !== null
  const wrapper = drawWrapper(instance_id, render.width, isDoubtful)
  wrapper.shadowRoot!.append(element)
  const { judge } = context
  const names = [render.label_text, render.sponsor_name] as const
  const label = keepLabel(element, names, judge, () => fail(mount, 'label_removed'))
  const mount: OpenMount = {
    context,
    options,
    render,
    delivery,
    emit: context.events.within({ turn_id, slot_id, instance_id }),
    listening: new AbortController(),
    closings: [],
    state: 'mounting',
    isClicked: false,
    beating: undefined,
    view_needs: [Infinity, Infinity, Infinity, Infinity],
    clip: render.media_type === 'video' ? unplayed : null,
    frame,
    viewability: watchViewability({
      frame: element,
      label,
      renderer: context,
      judge,
      declared: render,
      needs: () => mount.view_needs,
      isCounting: () => !delivery.isViewed && mount.state === 'rendered' && mount.clip?.isPlaying !== false,
      onRatioChange: () => {
        postVisibility(mount)
        followBeats(mount)
      },
      onViewed: (measurements) => countView(mount, measurements),
      onUnmeasured: (measurements) => reportUnmeasured(mount, measurements),
    }),
    wrapper,
    label,
    expiry: watchExpiry(
      consent.expires_at_ms,
      context.clock,
      () => block(mount, 'consent_expired'),
      () => beat(mount),
    ),
  }
  mount.closings.push(mount.expiry.close, mount.label.close, mount.viewability.close, frame.close, () => {
    clearInterval(mount.beating)
  })
  const clear = (reason: string): void => close(mount, 'cleared', reason)
  delivery.holder = { element, block: (reason) => block(mount, reason), clear, measure: mount.viewability.inspect }
  attach(mount)
  if (!isDoubtful) mount.expiry.rearm()
  watchPage(mount)
  return {
    get state() {
      return mount.state
    },
    get isViewed() {
      return delivery.isViewed || delivery.isUnmeasured
    },
    clear,
  }
}

function attach({ context, options: { target }, delivery, emit, frame, viewability, wrapper }: OpenMount): void {
  if (!viewability.isMeasurable && !delivery.isViewed) {
    delivery.isViewed = true
    emit('error', { code: 'unmeasurable' })
  }
  context.removeCopies(target)
  target.append(wrapper)
  followScheme(frame.element, target)
}

type Handlers = { [T in FrameMessage['t']]: (mount: OpenMount, message: Extract<FrameMessage, { t: T }>) => void }

const handlers: Handlers = {
  ready: (mount, { beacon_token, server_time_ms, media_type, view_needs }) => {
    if (media_type !== mount.render.media_type) return fail(mount, 'media_type_mismatch')
    mount.delivery.frame_token = beacon_token
    mount.view_needs = view_needs
    mount.context.clock.setServerTime(server_time_ms)
    if (!isPermitted(mount)) return
    setStyles(mount.wrapper, { visibility: 'inherit' })
    mount.expiry.rearm()
    postVisibility(mount)
  },
  rendered: reportRendered,
  resize: ({ render, options, frame }, { height }) => {
    const max_height = options.max_height ?? Math.max(2 * render.height, defaultMaxHeight)
    if (render.media_type === 'native') frame.resize(Math.min(height, max_height))
  },
  click: (mount, { user_activated }) => {
    if (mount.isClicked) return
    mount.isClicked = true
    mount.emit('click', { user_activated })
    send(mount, 'click', { user_activated })
  },
  media: (mount, message) => {
    const before = mount.clip
    if (!before) return
    const clip = updateClip(before, message, performance.now())
    mount.clip = clip
    if (clip.isStarted && !before.isStarted && send(mount, 'play_started')) mount.emit('play_started', {})
    if (clip.isCompleted && !before.isCompleted && send(mount, 'play_completed')) mount.emit('play_completed', {})
    mount.viewability.check()
  },
  error: (mount, { code }) => {
    const { onExpired } = mount.options
    const isLeft = mount.wrapper.ownerDocument.defaultView?.closed !== false
    // A window that shows the ad was closed.
    if (code === 'frame_reloaded' && isLeft) close(mount, 'cleared', 'target_removed')
    else if (code === 'autoplay_blocked') mount.emit('error', { code })
    else if (isConsentReason(code)) block(mount, code)
    else if (onExpired && code.startsWith('asset_token_')) onExpired()
    else fail(mount, code as ErrorCode)
  },
}

/** A frame without a width paints nothing: its slot is not displayed, or gets its size later. */
function reportRendered(mount: OpenMount): void {
  const { context, frame, state } = mount
  if (state !== 'mounting') return
  if (!frame.element.clientWidth) {
    context.whenShown(frame.element, () => reportRendered(mount))
    return
  }
  if (!isPermitted(mount)) return
  mount.state = 'rendered'
  send(mount, 'render')
  followBeats(mount)
  mount.options.onRendered?.()
  // Last, since a listener may end the turn.
  mount.emit('rendered', {})
  mount.viewability.check()
}

/** Only a clip does something with it. */
function postVisibility({ viewability, frame, clip }: OpenMount): void {
  if (!clip) return
  const { visible_ratio: ratio, page_visible } = viewability.measure()
  frame.post({ t: 'visibility', ratio, page_visible })
}

/** Only while it is on the screen: of many ads in a page, those that nobody sees do nothing. */
function followBeats(mount: OpenMount): void {
  const { delivery, viewability, state } = mount
  if (state === 'rendered' && viewability.isInView() && delivery.heartbeats < maxHeartbeats)
    mount.beating ??= setInterval(() => beat(mount), heartbeatIntervalMs)
  else {
    clearInterval(mount.beating)
    mount.beating = undefined
  }
}

function beat(mount: OpenMount): void {
  const { delivery, viewability, wrapper } = mount
  if (!isPageVisible(wrapper) || !viewability.isInView() || !isPermitted(mount)) return
  delivery.heartbeats += 1
  send(mount, 'heartbeat', {}, delivery.heartbeats)
  followBeats(mount)
}

function countView(mount: OpenMount, measurements: Measurements): void {
  if (!isPermitted(mount)) return
  mount.delivery.isViewed = true
  mount.emit('visible', {})
  const { clip } = mount
  // It played in view all the time: its last message about its position is older.
  const played = clip && { position_ms: Math.max(clip.position_ms, measurements.visible_ms ?? 0) }
  send(mount, 'visible', { ...measurements, ...played })
  mount.options.onViewed?.()
}

/** Records that nobody can know whether the ad was seen. A later view still counts. */
function reportUnmeasured(mount: OpenMount, measurements: Measurements): void {
  if (mount.delivery.isUnmeasured || !isPermitted(mount)) return
  mount.delivery.isUnmeasured = true
  send(mount, 'visible', { ...measurements, visibility_check: 'none' }, 0)
  mount.options.onViewed?.()
}

function send(mount: OpenMount, event: BeaconEvent, more: Measurements = {}, count?: number): boolean {
  const { clip, delivery, viewability } = mount
  const playback = clip && { position_ms: clip.position_ms, duration_ms: clip.duration_ms, muted: clip.muted }
  return delivery.send(event, { ...viewability.measure(), ...playback, ...more }, count)
}

function drawWrapper(instance_id: string, width: number, isHidden: boolean): HTMLElement {
  const wrapper = document.createElement('div')
  wrapper.dataset.spPlacement = instance_id
  setStyles(wrapper, {
    all: 'initial',
    // Not a block: the ::first-letter and ::first-line of the page would reach into it.
    display: 'grid',
    width: '100%',
    'max-width': `${width}px`,
    font: '12px/1.5 system-ui, sans-serif',
    visibility: isHidden ? 'hidden' : 'inherit',
    'color-scheme': 'inherit',
    // WebKit would divide the frame between two columns.
    'break-inside': 'avoid',
  })
  keepMarksOut(wrapper.attachShadow({ mode: 'open' }))
  return wrapper
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

/** Follows the page's color-scheme where it declares one; elsewhere the frame follows the system. */
function followScheme(frame: HTMLElement, target: Element): void {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="color-scheme"]')?.content
  const scheme = getComputedStyle(target).colorScheme !== 'normal' ? 'inherit' : meta
  if (scheme) setStyles(frame, { 'color-scheme': scheme })
}

/** Watches the page until the mount is closed: its policy, its visibility, and whether the frame stays in it. */
function watchPage(mount: OpenMount): void {
  const { context, options, render, frame, viewability } = mount
  const { signal } = mount.listening
  const { violations } = context
  const stopViolations = violations.on(() => {
    const violation = violations.find('frame-src', render.frame_url)
    if (violation && mount.state === 'mounting') fail(mount, violation.code, violation)
  })
  // A frame that was taken out, even if it was put back at once, has lost its document: it has another window, or none.
  let { contentWindow } = frame.element
  const stopChanges = context.onChange(options.target, () => {
    if (contentWindow && contentWindow !== frame.element.contentWindow) close(mount, 'cleared', 'target_removed')
    contentWindow = frame.element.contentWindow
  })
  mount.closings.push(stopViolations, stopChanges)
  const onVisibility = (): void => {
    postVisibility(mount)
    if (isPageVisible(frame.element)) viewability.check()
    else viewability.reset()
  }
  for (const page of [document, options.target.ownerDocument])
    page.addEventListener('visibilitychange', onVisibility, { signal })
  document.addEventListener('freeze', () => viewability.reset(), { signal })
  addEventListener('pagehide', () => close(mount, 'cleared', 'pagehide'), { signal })
}
