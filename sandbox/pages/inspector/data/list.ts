/** A list of the control plane, with new items at its top. */
import { type Dispatch, type SetStateAction, useCallback, useEffect, useRef, useState } from 'react'
import { type ApiProblem, callAny, type EndpointId } from './api.ts'
import { isReplaced, type SandboxEvent, useLiveEvents, useRecovery } from './live.ts'
import { toProblem } from './resource.ts'

export interface List<Item> {
  items: readonly Item[]
  /** Whether the first page has not arrived yet. */
  isLoading: boolean
  isLoadingMore: boolean
  hasMore: boolean
  problem: ApiProblem | null
  loadMore(): void
  /** Reads the first page again; the current items stay until it arrives. */
  refresh(): void
  /** Starts over with an empty list. */
  reload(): void
}

interface ListOptions<Item> {
  /** The identifier of an item: an item that is read again replaces the earlier one. */
  getKey(item: Item): string
  /** Whether an event adds to the list or changes an item in it. */
  isAffected(event: SandboxEvent): boolean
  /** Whether new items are shown as they arrive. Default true. */
  isLive?: boolean
  page_size?: number
}

/** Read at most this often while events arrive. */
const refreshMs = 400

const defaultPageSize = 100
/** A list that grows on its own keeps this many rows, or as many as were read by scrolling if that is more. */
const maxLiveRows = 2000

interface ReadPage<Item> {
  items: readonly Item[]
  next_cursor: string | null
}

interface State<Item> extends ReadPage<Item> {
  isLoading: boolean
  isLoadingMore: boolean
  problem: ApiProblem | null
}

const initial = { items: [], next_cursor: null, isLoading: true, isLoadingMore: false, problem: null }

/** Resolves to the items of all pages of a list, newest first: at most as many pages as reach `maxItems`. */
export async function readAllItems<Item>(
  id: EndpointId,
  query: object,
  { pageSize, maxItems }: { pageSize: number; maxItems: number },
): Promise<Item[]> {
  const found: Item[] = []
  for (let cursor: string | null | undefined; cursor !== null && found.length < maxItems; ) {
    const input = { query: { ...query, limit: pageSize, ...(cursor !== undefined && { cursor }) } }
    const page = await callAny<{ items: readonly Item[]; next_cursor?: string | null }>(id, input)
    const { items, next_cursor = null } = page
    found.push(...items)
    cursor = next_cursor
  }
  return found
}

/** Reads the list of an endpoint whose response has `items` and `next_cursor`. */
export function useList<Item>(
  id: EndpointId,
  input: { params?: object; query?: object } | null,
  options: ListOptions<Item>,
): List<Item> {
  const [state, setState] = useState<State<Item>>(initial)
  const name = `${id} ${JSON.stringify(input)}`
  const latest = useRef({ id, input, options, state })
  latest.current = { id, input, options, state }
  const generation = useRef(0)
  const cursors = useRef(new Map<string, string>())

  const readFirst = useCallback(async () => {
    if (latest.current.input === null) return
    const own = ++generation.current
    try {
      const page = await readPage(latest.current, null)
      if (own !== generation.current) return
      const { getKey } = latest.current.options
      noteCursor(cursors.current, page, getKey)
      setState((before) => mergePage(before, page, getKey, cursors.current))
    } catch (error) {
      if (own === generation.current) {
        setState((before) => ({ ...before, isLoading: false, isLoadingMore: false, problem: toProblem(error) }))
      }
    }
  }, [])

  const refresh = useCallback(() => void readFirst(), [readFirst])
  const reload = useCallback(() => {
    setState(initial)
    void readFirst()
  }, [readFirst])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the name stands for id and input
  useEffect(() => {
    cursors.current.clear()
    reload()
    return () => {
      generation.current++
    }
  }, [name, reload])
  useAffectedReads(name, () => latest.current.options, { refresh, reload })
  useRecovery(refresh)

  const loadMore = useCallback(() => void readNext(latest.current, cursors.current, setState), [])
  const { next_cursor, ...shown } = state
  return { ...shown, hasMore: next_cursor !== null, loadMore, refresh, reload }
}

/** Reads the next page and appends it, unless the list was restarted in the meantime. */
async function readNext<Item>(
  list: ListRead<Item> & { state: State<Item> },
  cursors: Map<string, string>,
  setState: Dispatch<SetStateAction<State<Item>>>,
): Promise<void> {
  const { next_cursor, isLoadingMore } = list.state
  if (isLoadingMore || next_cursor === null) return
  const { getKey } = list.options
  setState((before) => ({ ...before, isLoadingMore: true }))
  try {
    const page = await readPage(list, next_cursor)
    noteCursor(cursors, page, getKey)
    setState((before) =>
      before.next_cursor === next_cursor ? appendPage(before, page, getKey) : { ...before, isLoadingMore: false },
    )
  } catch (error) {
    setState((before) => {
      const problem = before.next_cursor === next_cursor ? toProblem(error) : before.problem
      return { ...before, isLoadingMore: false, problem }
    })
  }
}

interface ListRead<Item> {
  id: EndpointId
  input: { params?: object; query?: object } | null
  options: ListOptions<Item>
}

function readPage<Item>({ id, input, options }: ListRead<Item>, cursor: string | null): Promise<ReadPage<Item>> {
  const query = { ...input?.query, limit: options.page_size ?? defaultPageSize, ...(cursor !== null && { cursor }) }
  return callAny(id, { ...input, query })
}

/** Reads a list again while events arrive that change it, and from the start when the state was replaced. */
function useAffectedReads<Item>(
  name: string,
  readOptions: () => ListOptions<Item>,
  { refresh, reload }: Pick<List<Item>, 'refresh' | 'reload'>,
): void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has its own events
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      timer.current = undefined
    },
    [name],
  )
  useLiveEvents((events) => {
    if (events.some(isReplaced)) return reload()
    const { isLive, isAffected } = readOptions()
    if (isLive === false || timer.current !== undefined || !events.some(isAffected)) return
    timer.current = setTimeout(() => {
      timer.current = undefined
      refresh()
    }, refreshMs)
  })
}

/** Returns a list with one item that was read elsewhere. */
export function createSingleList<Item>(item: Item, reload: () => void): List<Item> {
  const ready = { isLoading: false, isLoadingMore: false, hasMore: false, problem: null }
  return { ...ready, items: [item], loadMore: () => undefined, refresh: reload, reload }
}

/** Stores the cursor of the next page under the last item of a page, so that a list can be cut there. */
function noteCursor<Item>(
  cursors: Map<string, string>,
  { items, next_cursor }: ReadPage<Item>,
  getKey: (item: Item) => string,
): void {
  const last = items.at(-1)
  if (last !== undefined && next_cursor !== null) cursors.set(getKey(last), next_cursor)
}

function appendPage<Item>(
  before: State<Item>,
  { items, next_cursor }: ReadPage<Item>,
  getKey: (item: Item) => string,
): State<Item> {
  const known = new Set(before.items.map(getKey))
  const added = items.filter((item) => !known.has(getKey(item)))
  return { ...before, items: [...before.items, ...added], next_cursor, isLoadingMore: false, problem: null }
}

/**
 * Puts a first page before the known items. When none of its items is known, more were added than it has, so it becomes
 * the whole list. An unchanged item stays the same object, and an unchanged list the same state, so nothing is drawn
 * again.
 */
function mergePage<Item>(
  before: State<Item>,
  { items: page, next_cursor }: ReadPage<Item>,
  getKey: (item: Item) => string,
  cursors: Map<string, string>,
): State<Item> {
  const known = new Map(before.items.map((item) => [getKey(item), item]))
  const overlaps = page.some((item) => known.has(getKey(item)))
  const read = page.map((item) => sameOr(known.get(getKey(item)), item))
  const state = { ...before, isLoading: false, problem: null }
  if (before.isLoading || !overlaps || next_cursor === null) {
    return isShown(before, read, next_cursor) ? before : { ...state, items: read, next_cursor, isLoadingMore: false }
  }
  const own = new Set(page.map(getKey))
  const items = [...read, ...before.items.filter((item) => !own.has(getKey(item)))]
  const maxItems = Math.max(maxLiveRows, before.items.length)
  const list = cutList({ items, next_cursor: before.next_cursor }, maxItems, getKey, cursors)
  return isShown(before, list.items, list.next_cursor) ? before : { ...state, ...list }
}

function sameOr<Item>(known: Item | undefined, read: Item): Item {
  return known !== undefined && JSON.stringify(known) === JSON.stringify(read) ? known : read
}

/** Whether a state already shows these items and has nothing else to report. */
function isShown<Item>(state: State<Item>, items: readonly Item[], next_cursor: string | null): boolean {
  return (
    !state.isLoading &&
    state.problem === null &&
    state.next_cursor === next_cursor &&
    state.items.length === items.length &&
    state.items.every((item, index) => item === items[index])
  )
}

/**
 * Cuts a list with more than `maxItems` items at the end of the last page that fits; the rest is read again when scrolling
 * down.
 */
function cutList<Item>(
  { items, next_cursor }: ReadPage<Item>,
  maxItems: number,
  getKey: (item: Item) => string,
  cursors: Map<string, string>,
): ReadPage<Item> {
  if (items.length <= maxItems) return { items, next_cursor }
  for (let length = maxItems; length > maxItems / 2; length--) {
    const last = items[length - 1]
    const cursor = last === undefined ? undefined : cursors.get(getKey(last))
    if (cursor === undefined) continue
    const kept = items.slice(0, length)
    const keys = new Set(kept.map(getKey))
    for (const key of cursors.keys()) if (!keys.has(key)) cursors.delete(key)
    return { items: kept, next_cursor: cursor }
  }
  return { items, next_cursor }
}
