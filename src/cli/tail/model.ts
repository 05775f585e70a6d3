/** The state of a tail, its filter and totals; and the reducer: an action in, the next state out. */
import { type Counts, count, noCounts } from './counts.ts'
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
      return showSlot(state, action)
    case 'request':
      return showRequest(state, action)
    case 'show':
      return { ...state, screen: action.screen, notice: null }
    case 'search':
      return search(state, action.text)
    case 'cancel_search':
      return cancelSearch(state)
    case 'choose':
      return choose(state, action.by)
    case 'pause':
      return togglePause(state)
    case 'clear':
      return clear(state)
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
  const slot: SlotState = { status: item.slot_id === null ? 'none' : 'loading' }
  const request: RequestState = { status: 'loading' }
  const screen: Screen = { name: 'details', item, slot, request, scroll: 0 }
  return { ...state, selected_seq: item.seq, screen, notice: null }
}

function showSlot(state: TailState, { slot_id, slot }: Extract<TailAction, { type: 'slot' }>): TailState {
  const { screen } = state
  return screen.name === 'details' && screen.item.slot_id === slot_id
    ? { ...state, screen: { ...screen, slot } }
    : state
}

function showRequest(state: TailState, { seq, request }: Extract<TailAction, { type: 'request' }>): TailState {
  const { screen } = state
  return screen.name === 'details' && screen.item.seq === seq ? { ...state, screen: { ...screen, request } } : state
}

function search(state: TailState, text: string): TailState {
  return refilter(state, { ...state.filter, search: text })
}

function cancelSearch(state: TailState): TailState {
  return { ...search(state, state.screen.name === 'search' ? state.screen.before : ''), screen: { name: 'list' } }
}

function choose(state: TailState, by: number): TailState {
  if (state.screen.name !== 'filter') return state
  const { field } = state.screen
  const choices = [null, ...(state.source.choices[field] ?? [])]
  const at = choices.indexOf(state.filter.fields[field] ?? null)
  const value = choices[(at + by + choices.length) % choices.length] ?? null
  return refilter(state, { ...state.filter, fields: { ...state.filter.fields, [field]: value } })
}

function togglePause(state: TailState): TailState {
  if (state.held === null) return { ...state, held: [], notice: null }
  return { ...append({ ...state, held: null }, state.held), notice: null }
}

function clear(state: TailState): TailState {
  const held = state.held === null ? null : []
  return { ...state, items: [], shown: [], held, counts: noCounts, selected_seq: null, notice: 'Cleared.' }
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
