/** The state of a tail, its filter and totals; the reducer: an action in, the next state out; and the store, which applies items at most 15 times a second. */
import { describeInterruption, type Interruption } from './feed.ts'
import type { Arrival, Details, RequestState, SlotState, TailItem, TailSource } from './source.ts'

/** Items kept; the oldest go first. */
export const maxItems = 5_000

export interface TailState {
  source: TailSource
  connection: { status: 'connecting' } | { status: 'live' } | { status: 'lost'; reason: string }
  /** Oldest first. */
  items: readonly TailItem[]
  /** Items that pass the filter, oldest first. */
  shown: readonly TailItem[]
  /** Items that arrived since the pause; null when it is not paused. */
  held: readonly TailItem[] | null
  filter: TailFilter
  counts: Counts
  /** Whether items from before the connection are still coming. */
  is_loading: boolean
  now_ms: number
  /** The item under the cursor; null follows the newest. */
  selected_seq: number | null
  screen: Screen
  /** The result of the last key. */
  notice: string | null
}

export type Screen =
  | { name: 'list' }
  | { name: 'help' }
  | { name: 'search'; before: string }
  | { name: 'filter'; field: string }
  | ({ name: 'details'; scroll: number } & Details)

/** Which items are shown. */
export interface TailFilter {
  /** The values of fields; null accepts every item. */
  fields: Readonly<Record<string, string | null>>
  /** The text to search for, in any case. */
  search: string
}

export const noFilter: TailFilter = { fields: {}, search: '' }

export function filterFields({ choices }: TailSource): readonly string[] {
  return Object.keys(choices)
}

export type TailAction =
  | { type: 'arrive'; arrivals: readonly Arrival[]; now_ms: number }
  | { type: 'connect'; connection: TailState['connection']; notice: string | null }
  /** Beyond the first or the last it stays there. */
  | { type: 'move'; by: number }
  | { type: 'details' }
  | { type: 'slot'; slot_id: string; slot: SlotState }
  | { type: 'request'; seq: number; request: RequestState }
  | { type: 'show'; screen: Screen }
  | { type: 'search'; text: string }
  /** Ends a search and restores the text from before it. */
  | { type: 'cancel_search' }
  | { type: 'choose'; by: number }
  | { type: 'pause' }
  | { type: 'clear' }
  | { type: 'notice'; text: string }

export function startState(source: TailSource, filter: TailFilter, now_ms: number, is_loading = false): TailState {
  return {
    source,
    connection: { status: 'connecting' },
    items: [],
    shown: [],
    held: null,
    filter,
    counts: noCounts,
    is_loading,
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
      return state.screen.name === 'details' && state.screen.item.slot_id === action.slot_id
        ? { ...state, screen: { ...state.screen, slot: action.slot } }
        : state
    case 'request':
      return state.screen.name === 'details' && state.screen.item.seq === action.seq
        ? { ...state, screen: { ...state.screen, request: action.request } }
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
        items: [],
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

/** Returns the index of the cursor in `shown`: the newest when following, the oldest when its item is gone, -1 when empty. */
export function findCursor({ shown, selected_seq }: TailState): number {
  if (selected_seq === null) return shown.length - 1
  const index = shown.findIndex(({ seq }) => seq >= selected_seq)
  return index < 0 ? shown.length - 1 : index
}

export function selectedItem(state: TailState): TailItem | null {
  if (state.screen.name === 'details') return state.screen.item
  return state.shown[findCursor(state)] ?? null
}

function arrive(state: TailState, arrivals: readonly Arrival[], now_ms: number): TailState {
  const counts = count(state.counts, arrivals, now_ms, state.source)
  if (arrivals.length === 0) return { ...state, counts, now_ms, is_loading: false }
  const is_loading = arrivals.at(-1)?.is_live === false
  const fresh = arrivals.map(({ item }) => item)
  if (state.held !== null) return { ...state, counts, is_loading, now_ms, held: newest(state.held, fresh) }
  return append({ ...state, counts, is_loading, now_ms }, fresh)
}

function append(state: TailState, fresh: readonly TailItem[]): TailState {
  const items = newest(state.items, fresh)
  const passing = fresh.filter((item) => passes(state.source, item, state.filter))
  const oldest_seq = items[0]?.seq ?? 0
  const kept =
    (state.shown[0]?.seq ?? oldest_seq) < oldest_seq ? state.shown.filter(({ seq }) => seq >= oldest_seq) : state.shown
  return { ...state, items, shown: passing.length === 0 ? kept : newest(kept, passing) }
}

function newest(before: readonly TailItem[], fresh: readonly TailItem[]): readonly TailItem[] {
  return fresh.length >= maxItems ? fresh.slice(-maxItems) : [...before.slice(-(maxItems - fresh.length)), ...fresh]
}

function move(state: TailState, by: number): TailState {
  const { screen, shown } = state
  if (screen.name === 'details') return { ...state, screen: { ...screen, scroll: Math.max(0, screen.scroll + by) } }
  const last = shown.length - 1
  const index = Math.min(last, Math.max(0, findCursor(state) + by))
  return { ...state, selected_seq: index >= last ? null : (shown[index]?.seq ?? null), notice: null }
}

function openDetails(state: TailState): TailState {
  const item = selectedItem(state)
  if (item === null) return state
  const slot: SlotState = { status: item.slot_id === null || !state.source.has_slot ? 'none' : 'loading' }
  const request: RequestState = { status: 'loading' }
  const screen: Screen = { name: 'details', item, slot, request, scroll: 0 }
  return { ...state, selected_seq: item.seq, screen, notice: null }
}

function choose(state: TailState, by: number): TailState {
  if (state.screen.name !== 'filter') return state
  const { field } = state.screen
  const choices = [null, ...(state.source.choices[field] ?? [])]
  const at = choices.indexOf(state.filter.fields[field] ?? null)
  const value = choices[(at + by + choices.length) % choices.length] ?? null
  return refilter(state, { ...state.filter, fields: { ...state.filter.fields, [field]: value } })
}

function refilter(state: TailState, filter: TailFilter): TailState {
  return { ...state, filter, shown: state.items.filter((item) => passes(state.source, item, filter)) }
}

export function passes(source: TailSource, item: TailItem, { fields, search }: TailFilter): boolean {
  const has = (text: string | null) => text?.toLowerCase().includes(search.toLowerCase()) === true
  return (
    Object.entries(fields).every(([field, value]) => value === null || source.readValue(item, field) === value) &&
    (search === '' || source.listSearched(item).some(has))
  )
}

type GroupCounts = Readonly<Record<string, number>>

interface Counts {
  total: number
  by_group: GroupCounts
  tallies: Readonly<Record<string, number>>
  /** The last minute, oldest first; seconds without an item are left out. */
  seconds: readonly Second[]
}

interface Second {
  /** Epoch seconds. */
  at_s: number
  total: number
  by_group: GroupCounts
}

const noCounts: Counts = { total: 0, by_group: {}, tallies: {}, seconds: [] }
export const minuteSeconds = 60
/** Rates are means over this many whole seconds. */
const rateSpanSeconds = 5

/** Returns the counts with more items; those from before the connection do not count for the last minute. */
function count(counts: Counts, arrivals: readonly Arrival[], now_ms: number, source: TailSource): Counts {
  const at_s = Math.floor(now_ms / 1000)
  const live = arrivals.filter(({ is_live }) => is_live)
  const seconds = live.length === 0 ? counts.seconds : withArrivals(counts.seconds, live, at_s, source)
  const tallied = arrivals.flatMap(({ item }) => source.listTallies(item))
  const tallies = source.tallies.map((name) => {
    const fresh = tallied.filter((each) => each === name).length
    return [name, (counts.tallies[name] ?? 0) + fresh]
  })
  return {
    total: counts.total + arrivals.length,
    by_group: addGroups(counts.by_group, arrivals, source),
    tallies: Object.fromEntries(tallies),
    seconds: seconds.filter((second) => second.at_s >= at_s - minuteSeconds),
  }
}

/** Returns the items per second of the last seconds: of one group, or of all. */
export function rate({ seconds }: Counts, now_ms: number, group: string | null = null): number {
  const now_s = Math.floor(now_ms / 1000)
  const recent = seconds.filter(({ at_s }) => at_s < now_s && at_s >= now_s - rateSpanSeconds)
  const sum = recent.reduce((sum, second) => sum + (group === null ? second.total : (second.by_group[group] ?? 0)), 0)
  return sum / rateSpanSeconds
}

/** Returns one number for each of the last `minute_s` whole seconds, oldest first. */
export function lastMinute({ seconds }: Counts, now_ms: number): number[] {
  const now_s = Math.floor(now_ms / 1000)
  const totals = new Map(seconds.map(({ at_s, total }) => [at_s, total]))
  return Array.from({ length: minuteSeconds }, (_, index) => totals.get(now_s - minuteSeconds + index) ?? 0)
}

function addGroups(before: GroupCounts, arrivals: readonly Arrival[], source: TailSource): GroupCounts {
  const counts: Record<string, number> = { ...before }
  for (const { item } of arrivals) {
    const group = source.findGroup(item)
    if (group !== null) counts[group] = (counts[group] ?? 0) + 1
  }
  return counts
}

function withArrivals(
  seconds: readonly Second[],
  arrivals: readonly Arrival[],
  at_s: number,
  source: TailSource,
): readonly Second[] {
  const last = seconds.at(-1)
  const before = last?.at_s === at_s ? last : { total: 0, by_group: {} }
  const second = {
    at_s,
    total: before.total + arrivals.length,
    by_group: addGroups(before.by_group, arrivals, source),
  }
  return [...(last?.at_s === at_s ? seconds.slice(0, -1) : seconds), second]
}

/** The events of a feed: items, and changes of the connection. */
export type TailMessage = Interruption | ({ kind: 'item' } & Arrival)

export const framesPerSecond = 15

export interface TailStore {
  state(): TailState
  dispatch(action: TailAction): void
  /** Applies a message of the feed. */
  receive(message: TailMessage): void
  subscribe(listener: () => void): () => void
  close(): void
}

export function createTailStore(initial: TailState, now: () => number): TailStore {
  let state = initial
  let pending: Arrival[] = []
  const listeners = new Set<() => void>()
  const dispatch = (action: TailAction) => {
    state = reduce(state, action)
    for (const listener of listeners) listener()
  }
  const flush = () => {
    const isNextSecond = Math.floor(now() / 1000) !== Math.floor(state.now_ms / 1000)
    if (pending.length === 0 && !isNextSecond) return
    const arrivals = pending
    pending = []
    dispatch({ type: 'arrive', arrivals, now_ms: now() })
  }
  const timer = setInterval(flush, 1000 / framesPerSecond)
  return {
    state: () => state,
    dispatch,
    receive(message) {
      if (message.kind === 'item') {
        pending.push(message)
        return
      }
      flush()
      dispatch(toAction(message))
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => clearInterval(timer),
  }
}

function toAction(message: Interruption): TailAction {
  if (message.kind === 'connected')
    return { type: 'connect', connection: { status: 'live' }, notice: describeInterruption(message) }
  if (message.kind !== 'lost') return { type: 'notice', text: describeInterruption(message) }
  return {
    type: 'connect',
    connection: { status: 'lost', reason: message.reason },
    notice: describeInterruption(message),
  }
}
