/** A mounted placement: what it is given, its state, and the ways in which it closes. */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { Placement } from '#contract/resources/placements.ts'
import type { ViewNeeds } from '#contract/viewability.ts'
import type { ConsentReason, watchExpiry } from '../consent.ts'
import type { AdMeter, ConsoleAd } from '../console-page.ts'
import type { Emit, ErrorCode } from '../events.ts'
import type { Renderer } from '../renderer.ts'
import type { openBeacons } from './beacons.ts'
import type { openFrame } from './frame.ts'
import type { JudgePart } from './judge-part.ts'
import type { Label } from './label.ts'
import type { Clip, watchViewability } from './measurement.ts'

/** The renderer, and what all ads of a page share. */
export interface MountContext extends Renderer {
  readonly judge: JudgePart
  /** Returns what was already sent of a placement: it is counted once, however often it is mounted. */
  findDelivery(options: MountOptions): Delivery
  /** Calls back once an element is in the document and has a width: one that has left it, or is not displayed. */
  whenShown(element: Element, listener: () => void): void
  /** Calls back when nodes of the document, or of a shadow tree around `target`, have come or gone. Returns what ends it. */
  onChange(target: Element, listener: () => void): () => void
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
  /** Called when the target is in the document again, after it was cleared because it had left, was moved or was emptied. */
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
  /** Whether it was reported as a view that could not be measured. */
  isUnmeasured: boolean
  frame_token: string | null
  beacon_token: string | undefined
  /** The mount that shows it now. */
  holder: {
    readonly element: HTMLElement
    block(reason: ConsentReason): void
    clear(reason: string): void
    measure(): AdMeter
  } | null
  /** What the console of the page shows of it. */
  readonly ad: ConsoleAd
}

/** A mount as its steps see it. */
export interface OpenMount {
  readonly context: MountContext
  readonly options: MountOptions
  readonly render: Placement['render']
  readonly delivery: Delivery
  readonly emit: Emit
  readonly frame: ReturnType<typeof openFrame>
  readonly viewability: ReturnType<typeof watchViewability>
  /** The element in the target. Label and frame are in its shadow root. */
  readonly wrapper: HTMLElement
  readonly label: Label
  readonly expiry: ReturnType<typeof watchExpiry>
  /** Aborted when the mount is closed. */
  readonly listening: AbortController
  readonly closings: (() => void)[]
  state: Mount['state']
  isClicked: boolean
  /** Sends heartbeats. */
  beating: ReturnType<typeof setInterval> | undefined
  view_needs: ViewNeeds
  /** Null for an ad that is not a clip. */
  clip: Clip | null
}

export function isOpen({ state }: OpenMount): boolean {
  return state === 'mounting' || state === 'rendered'
}

/** Returns whether consent is valid now. If not, the ad is cleared with a `blocked` event. */
export function isPermitted(mount: OpenMount): boolean {
  const { context, options } = mount
  const reason = context.consents.problem(options.consent, options.session_id)
  if (reason) block(mount, reason)
  return !reason
}

export function fail(mount: OpenMount, code: ErrorCode, details: object = {}): void {
  if (!isOpen(mount)) return
  mount.emit('error', { code, ...details })
  close(mount, 'failed', code)
}

export function block(mount: OpenMount, reason: ConsentReason): void {
  if (!isOpen(mount)) return
  mount.context.block(reason, mount.options.consent, mount.emit)
  close(mount, 'blocked', reason)
}

/** How often an ad was taken out of a target that stayed. A page that does so more often does not want it. */
const drops = new WeakMap<Element, number>()
const maxDrops = 10

export function close(mount: OpenMount, outcome: MountOutcome, reason: string): void {
  if (!isOpen(mount)) return
  const { context, options, delivery, frame, wrapper } = mount
  mount.state = outcome
  delivery.holder = null
  mount.listening.abort()
  for (const end of mount.closings) end()
  // The target has left, or was moved. A page that takes the frame out of it alone wants no ad.
  const root = wrapper.shadowRoot!
  const isGone = reason === 'target_removed' && frame.element.parentNode === root
  frame.element.remove()
  if (isGone) root.replaceChildren()
  else {
    wrapper.remove()
    context.removeCopies(document, delivery.instance_id)
  }
  mount.emit('cleared', { reason })
  options.onCleared?.(outcome, reason)
  if (!isGone || !options.onReturned) return
  // A page that was morphed or hydrated keeps the target, and drops what its markup does not have.
  const { target, onReturned } = options
  if (!target.isConnected || wrapper.isConnected) {
    context.whenShown(wrapper, onReturned)
    return
  }
  // Something else stands there now: the page has another use for the slot.
  if (target.firstElementChild || target.textContent?.trim()) return
  const count = (drops.get(target) ?? 0) + 1
  drops.set(target, count)
  if (count <= maxDrops) onReturned()
}
