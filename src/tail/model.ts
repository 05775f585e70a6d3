/** The state of `svc beacons tail`, its filter, and the reducer: an action in, the next state out. Pure. */
import { Verdict } from '../contract/control/beacons.ts'
import type { PlacementDetail } from '../contract/control/placements.ts'
import { Format } from '../contract/fields.ts'
import { BeaconEvent } from '../contract/v1/beacons.ts'
import { type Arrival, type Counts, count, noCounts } from './counts.ts'
import type { TailBeacon } from './feed.ts'

/** Beacons kept; the oldest go first. */
export const capacity = 5_000

export interface TailState {
  connection: { status: 'connecting' } | { status: 'live' } | { status: 'lost'; reason: string }
  /** Oldest first. */
  beacons: readonly TailBeacon[]
  /** Beacons that pass the filter, oldest first. */
  shown: readonly TailBeacon[]
  /** Beacons that arrived since the pause; null when it is not paused. */
  held: readonly TailBeacon[] | null
  filter: TailFilter
  counts: Counts
  now_ms: number
  /** The beacon under the cursor; null follows the newest. */
  selected_seq: number | null
  screen: Screen
  /** The result of the last key. */
  notice: string | null
}

export type Screen =
  | { name: 'list' }
  | { name: 'help' }
  | { name: 'search'; before: string }
  | { name: 'filter'; field: FilterField }
  | { name: 'details'; beacon: TailBeacon; slot: SlotState; scroll: number }

export type SlotState =
  | { status: 'none' }
  | { status: 'loading' }
  | { status: 'failed'; reason: string }
  | { status: 'loaded'; detail: PlacementDetail }

/** Which beacons are shown. A field that is null accepts every beacon. */
export interface TailFilter {
  event: BeaconEvent | null
  format: Format | null
  verdict: Verdict | null
  session: string | null
  /** Part of an identifier, event, format, verdict or reason; upper and lower case are equal. */
  search: string
}

export const noFilter: TailFilter = { event: null, format: null, verdict: null, session: null, search: '' }

export const filterFields = ['event', 'format', 'verdict'] as const
export type FilterField = (typeof filterFields)[number]
export const filterChoices = {
  event: [null, ...BeaconEvent.options],
  format: [null, ...Format.options],
  verdict: [null, ...Verdict.options],
} as const

export type TailAction =
  | { type: 'arrive'; arrivals: readonly Arrival[]; now_ms: number }
  | { type: 'connect'; connection: TailState['connection']; notice: string | null }
  /** Beyond the first or the last it stays there. */
  | { type: 'move'; by: number }
  | { type: 'details' }
  | { type: 'slot'; slot_id: string; slot: SlotState }
  | { type: 'show'; screen: Screen }
  | { type: 'search'; text: string }
  /** Ends a search and restores the text from before it. */
  | { type: 'cancel_search' }
  | { type: 'choose'; by: number }
  | { type: 'pause' }
  | { type: 'clear' }
  | { type: 'notice'; text: string }

export function startState(filter: TailFilter, now_ms: number): TailState {
  return {
    connection: { status: 'connecting' },
    beacons: [],
    shown: [],
    held: null,
    filter,
    counts: noCounts,
    now_ms,
    selected_seq: null,
    screen: { name: 'list' },
    notice: null,
  }
}

export function reduce(state: TailState, action: TailAction): TailState {
  switch (action.type) {
    case 'arrive':
      return arrive(state, action.arrivals, action.now_ms)
    case 'connect':
      return { ...state, connection: action.connection, notice: action.notice }
    case 'move':
      return move(state, action.by)
    case 'details':
      return openDetails(state)
    case 'slot':
      return state.screen.name === 'details' && state.screen.beacon.slot_id === action.slot_id
        ? { ...state, screen: { ...state.screen, slot: action.slot } }
        : state
    case 'show':
      return { ...state, screen: action.screen, notice: null }
    case 'search':
      return refilter(state, { ...state.filter, search: action.text })
    case 'cancel_search':
      return {
        ...refilter(state, { ...state.filter, search: state.screen.name === 'search' ? state.screen.before : '' }),
        screen: { name: 'list' },
      }
    case 'choose':
      return choose(state, action.by)
    case 'pause':
      if (state.held === null) return { ...state, held: [], notice: null }
      return { ...append({ ...state, held: null }, state.held), notice: null }
    case 'clear':
      return {
        ...state,
        beacons: [],
        shown: [],
        held: state.held === null ? null : [],
        counts: noCounts,
        selected_seq: null,
        notice: 'Cleared.',
      }
    case 'notice':
      return { ...state, notice: action.text }
  }
}

/** Returns the index of the cursor in `shown`: the newest when following, the oldest when its beacon is gone, -1 when empty. */
export function cursorOf({ shown, selected_seq }: TailState): number {
  if (selected_seq === null) return shown.length - 1
  const index = shown.findIndex(({ seq }) => seq >= selected_seq)
  return index < 0 ? shown.length - 1 : index
}

export function selectedBeacon(state: TailState): TailBeacon | null {
  if (state.screen.name === 'details') return state.screen.beacon
  return state.shown[cursorOf(state)] ?? null
}

function arrive(state: TailState, arrivals: readonly Arrival[], now_ms: number): TailState {
  const counts = count(state.counts, arrivals, now_ms)
  if (arrivals.length === 0) return { ...state, counts, now_ms }
  const fresh = arrivals.map(({ beacon }) => beacon)
  if (state.held !== null) return { ...state, counts, now_ms, held: newest(state.held, fresh) }
  return append({ ...state, counts, now_ms }, fresh)
}

function append(state: TailState, fresh: readonly TailBeacon[]): TailState {
  const beacons = newest(state.beacons, fresh)
  const passing = fresh.filter((beacon) => passes(beacon, state.filter))
  const oldest_seq = beacons[0]?.seq ?? 0
  const kept =
    (state.shown[0]?.seq ?? oldest_seq) < oldest_seq ? state.shown.filter(({ seq }) => seq >= oldest_seq) : state.shown
  return { ...state, beacons, shown: passing.length === 0 ? kept : newest(kept, passing) }
}

function newest(before: readonly TailBeacon[], fresh: readonly TailBeacon[]): readonly TailBeacon[] {
  return fresh.length >= capacity ? fresh.slice(-capacity) : [...before.slice(-(capacity - fresh.length)), ...fresh]
}

function move(state: TailState, by: number): TailState {
  const { screen, shown } = state
  if (screen.name === 'details') return { ...state, screen: { ...screen, scroll: Math.max(0, screen.scroll + by) } }
  const last = shown.length - 1
  const index = Math.min(last, Math.max(0, cursorOf(state) + by))
  return { ...state, selected_seq: index >= last ? null : (shown[index]?.seq ?? null), notice: null }
}

function openDetails(state: TailState): TailState {
  const beacon = selectedBeacon(state)
  if (beacon === null) return state
  const slot: SlotState = { status: beacon.slot_id === null ? 'none' : 'loading' }
  return { ...state, selected_seq: beacon.seq, screen: { name: 'details', beacon, slot, scroll: 0 }, notice: null }
}

function choose(state: TailState, by: number): TailState {
  if (state.screen.name !== 'filter') return state
  const { field } = state.screen
  const choices: readonly (string | null)[] = filterChoices[field]
  const at = choices.indexOf(state.filter[field])
  const value = choices[(at + by + choices.length) % choices.length] ?? null
  return refilter(state, { ...state.filter, [field]: value })
}

function refilter(state: TailState, filter: TailFilter): TailState {
  return { ...state, filter, shown: state.beacons.filter((beacon) => passes(beacon, filter)) }
}

export function passes(beacon: TailBeacon, filter: TailFilter): boolean {
  return (
    (filter.event === null || beacon.event === filter.event) &&
    (filter.format === null || beacon.format === filter.format) &&
    (filter.verdict === null || beacon.verdict === filter.verdict) &&
    (filter.session === null || beacon.session_id === filter.session) &&
    (filter.search === '' || contains(beacon, filter.search.toLowerCase()))
  )
}

function contains(beacon: TailBeacon, search: string): boolean {
  const { beacon_id, slot_id, session_id, client_id, event, format, verdict, reason_code, metric } = beacon
  return [beacon_id, slot_id, session_id, client_id, event, format, verdict, reason_code, metric].some(
    (value) => value?.toLowerCase().includes(search) === true,
  )
}
