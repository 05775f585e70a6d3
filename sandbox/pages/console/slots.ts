/** What is known of each slot of the page: what the renderer knows, joined with what the sandbox says of its asset token. */

import type { ConsoleSlot } from '#contract/resources/sandbox/console-slots.ts'
import { isFrameAddress } from '#contract/words/addresses.ts'
import type { ReportedBlock, ReportedError } from '#contract/words/renderer-errors.ts'
import { isObject } from '#foundation/json.ts'
import type { ConsoleAd, ConsolePage, ConsoleTurn } from '#renderer/host/console-page.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import type { Channel } from './channel.ts'

/** One place for an ad: a turn with what came of it, or an ad that was mounted without one. */
export interface Slot {
  /** The same for as long as the page has the slot. */
  key: string
  /** `#ad`, `div.slot`: how a developer names the element. */
  name: string
  turn: ConsoleTurn | null
  ad: ConsoleAd | null
  sandbox: ConsoleSlot | null
  /** Of an ad that is shown, and that the sandbox of render.js does not know. */
  elsewhere: ReportedError['elsewhere'] | null
  slot_id: string | null
  state: SlotState
  /** Its events, oldest first. */
  events: readonly RendererEvent[]
}

type SlotState =
  | { outcome: 'pending'; stage: 'requesting' | 'loading' }
  | { outcome: 'fill'; isViewed: boolean }
  | { outcome: 'no_fill'; reason: string }
  | ({ outcome: 'blocked' } & ReportedBlock)
  | ({ outcome: 'error' } & ReportedError)
  | { outcome: 'ended'; reason: string; isViewed: boolean }

/** Errors that do not end an ad, or are about one that had ended. */
const notices: ReadonlySet<string> = new Set(['autoplay_blocked', 'unmeasurable', 'late_decision', 'option_unknown'])

/** The key of what is reported without a slot: of responses that were mounted without a turn and are not ads. */
const pageKey = 'page'

/** Returns the slots of a page, in the order of their turns. `history` are its events, oldest first. */
export function readSlots(page: ConsolePage, history: readonly RendererEvent[], find: Channel['find']): Slot[] {
  const ads = page.ads()
  const byTurn = new Map(ads.map((ad) => [ad.turn_id, ad]))
  const turns = page.turns().map((turn) => {
    const ad = byTurn.get(turn.id) ?? null
    const events = history.filter(({ turn_id }) => turn_id === turn.id)
    return { key: turn.id, turn, ad, events, state: readTurnState(turn, ad, events) }
  })
  const known = new Set(turns.map(({ key }) => key))
  const others = ads
    .filter(({ turn_id }) => turn_id === undefined || !known.has(turn_id))
    .map((ad) => {
      const events = history.filter(({ instance_id }) => instance_id === ad.instance_id)
      return { key: ad.instance_id, turn: null, ad, events, state: readAdState(ad, events) }
    })
  const loose = history.filter(({ turn_id, instance_id }) => turn_id === undefined && instance_id === undefined)
  const ended = readEnd(loose)
  const rest = ended === null ? [] : [{ key: pageKey, turn: null, ad: null, events: loose, state: ended }]
  return [...turns, ...others, ...rest].map((slot) => ({
    ...slot,
    name: nameSlot(slot.turn, slot.ad),
    ...readSandbox(slot, page.base_url, find),
    slot_id: slot.ad?.slot_id ?? slot.events.findLast(({ slot_id }) => slot_id !== undefined)?.slot_id ?? null,
  }))
}

/** Adds what the sandbox says of an ad, and what follows for one whose frame has another address than the frames of the sandbox. */
function readSandbox({ ad, state }: Pick<Slot, 'ad' | 'state'>, base_url: string, find: Channel['find']) {
  if (ad === null) return { state, sandbox: null, elsewhere: null }
  const { frame_url } = ad.placement.render
  const sandbox = find(ad.asset_token)
  const isOther = !isFrameAddress(frame_url, base_url)
  const isLost = state.outcome === 'error' && state.code === 'render_timeout' && sandbox?.frame_loaded_at_ms === null
  return {
    state: isOther && isLost ? { ...state, slot_id: ad.slot_id, elsewhere: { frame_url, base_url } } : state,
    sandbox: sandbox ?? null,
    // A proxy or tunnel has another address too, and the sandbox behind it knows its ads.
    elsewhere: isOther && sandbox === null && state.outcome === 'fill' ? { frame_url, base_url } : null,
  }
}

/** Returns the element that a slot's mark stands at: its frame, else the element of its turn. */
export function findPlace({ ad, turn }: Slot): Element | null {
  const place = ad?.element ?? turn?.target ?? null
  return place?.isConnected === true ? place : null
}

/** Returns the largest size that the page asked for, `320 × 600` or `any × 250`; null when it asked for none. */
export function describeAsked({ turn }: Slot): string | null {
  const hint = turn?.asked
  if (!isObject(hint) || (hint.max_width === undefined && hint.max_height === undefined)) return null
  return `${hint.max_width ?? 'any'} × ${hint.max_height ?? 'any'}`
}

/** Returns the events of a type, oldest first. */
export function listEvents<T extends RendererEvent['type']>({ events }: Slot, type: T): EventWithType<T>[] {
  return events.filter((event): event is EventWithType<T> => event.type === type)
}
type EventWithType<T extends RendererEvent['type']> = Extract<RendererEvent, { type: T }>

/** Returns the errors that did not end the ad, the last of each code. */
export function listNotices(slot: Slot): ReportedError[] {
  const errors = listEvents(slot, 'error').filter(({ code }) => notices.has(code))
  const { elsewhere } = slot
  return [
    ...new Map(errors.map((error) => [error.code, error])).values(),
    ...(elsewhere ? [{ code: 'renderer_elsewhere', elsewhere }] : []),
  ]
}

function readTurnState(turn: ConsoleTurn, ad: ConsoleAd | null, events: readonly RendererEvent[]): SlotState {
  const isViewed = ad?.isViewed ?? false
  switch (turn.state) {
    case 'rendered':
    case 'finishing':
      return { outcome: 'fill', isViewed }
    case 'filled':
    case 'mounting':
      return { outcome: 'pending', stage: 'loading' }
    case 'no_fill':
    case 'blocked':
    case 'failed':
      return readEnd(events) ?? { outcome: 'error', code: turn.state }
    case 'cleared':
    case 'cancelled':
    case 'expired':
      return { outcome: 'ended', reason: readClearing(events) ?? readEnding(turn), isViewed }
    default:
      return { outcome: 'pending', stage: 'requesting' }
  }
}

function readAdState(ad: ConsoleAd, events: readonly RendererEvent[]): SlotState {
  const { isViewed } = ad
  if (ad.element !== null) {
    const isRendered = events.findLast(({ type }) => type === 'rendered' || type === 'cleared')?.type === 'rendered'
    return isRendered ? { outcome: 'fill', isViewed } : { outcome: 'pending', stage: 'loading' }
  }
  const reason = readClearing(events)
  const end = readEnd(events)
  return end ?? { outcome: 'ended', reason: reason ?? 'cleared', isViewed }
}

/** Returns the last event that says why there is no ad, or null. */
function readEnd(events: readonly RendererEvent[]): SlotState | null {
  const last = events.findLast(
    (event) =>
      event.type === 'no_fill' || event.type === 'blocked' || (event.type === 'error' && !notices.has(event.code)),
  )
  if (last?.type === 'no_fill') return { outcome: 'no_fill', reason: last.no_fill_reason }
  if (last?.type === 'blocked') {
    const { reason, consent_ahead_ms, device_ahead_ms } = last
    return { outcome: 'blocked', reason, consent_ahead_ms, device_ahead_ms }
  }
  if (last?.type !== 'error') return null
  const { type: _type, at_ms: _at, turn_id: _turn, slot_id: _slot, instance_id: _instance, ...error } = last
  return { outcome: 'error', ...error }
}

function readClearing(events: readonly RendererEvent[]): string | null {
  const last = events.findLast((event) => event.type === 'cleared')
  return last?.type === 'cleared' ? last.reason : null
}

/** Returns why a turn has ended that mounted nothing that could be cleared. */
function readEnding({ ended }: ConsoleTurn): string {
  if (typeof ended !== 'string') return 'unknown'
  return ended === 'finished' ? 'finished_early' : ended
}

function nameSlot(turn: ConsoleTurn | null, ad: ConsoleAd | null): string {
  const root = ad?.element?.getRootNode()
  const wrapper = root instanceof ShadowRoot ? root.host : null
  const target = turn?.target ?? wrapper?.parentElement ?? null
  if (target === null) return ad === null ? (turn?.id ?? 'This page') : ad.placement.format
  const { id, classList, localName } = target
  if (id !== '') return `#${id}`
  return [localName, ...classList].slice(0, 2).join('.')
}
