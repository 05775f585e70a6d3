/**
 * A list as a table: columns by TanStack Table, rows by TanStack Virtual, so ten thousand are as fast as ten. The next
 * page is read before its end is reached. On a narrow window the columns that matter less are left out.
 */
import { type ColumnDef, columnVisibilityFeature, tableFeatures, useTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import type { EndpointId } from '../../data/api.ts'
import { mediaCell } from '../../data/cell.ts'
import { type List, useList } from '../../data/list.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { Empty, Loading, Problem } from '../Shown.tsx'
import type { Column } from './columns.tsx'
import { DownloadCsv } from './DownloadCsv.tsx'
import { useRowKeys } from './row-keys.ts'
import { TableRow } from './TableRow.tsx'

interface DataTableProps<Item> {
  /** The name of the rows, for screen readers: `Placements`. */
  label: string
  list: List<Item>
  columns: readonly Column<Item>[]
  getKey(item: Item): string
  /** The page of a row; without one, rows are not links. */
  getRoute?(item: Item): string | null
  empty?: ReactNode
  /** Shown beside the number of rows. */
  foot?: ReactNode
}

/** A list of the control plane: how it is shown, and when it is reloaded. */
export interface Table<Item> extends Omit<DataTableProps<Item>, 'list' | 'empty' | 'foot'> {
  id: EndpointId
  /** Whether an event adds to the list or changes an item of it. */
  isAffected(event: SandboxEvent): boolean
  /** How often it is read where no event announces new items. */
  refresh_ms?: number
}

export interface LiveTableProps<Item> {
  table: Table<Item>
  query: Readonly<Record<string, string>>
  /** Whether new items are shown as they arrive. Default true. */
  isLive?: boolean
  empty: ReactNode
}

/** The items of a query, newest first, including items that are added. */
export function LiveTable<Item extends object>({ table, query, isLive = true, empty }: LiveTableProps<Item>) {
  const { id, getKey, isAffected, refresh_ms } = table
  const list = useList<Item>(id, { query }, { getKey, isAffected, isLive })
  const { refresh } = list
  useEffect(() => {
    if (!isLive || refresh_ms === undefined) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') refresh()
    }, refresh_ms)
    return () => clearInterval(timer)
  }, [isLive, refresh_ms, refresh])
  return <DataTable {...table} list={list} empty={empty} foot={<DownloadCsv id={id} query={query} />} />
}

const features = tableFeatures({ columnVisibilityFeature })
type Features = typeof features

/** As `.table-row` has it: on a phone chips take a second line, and a finger needs the height. */
const rowPx = { wide: 38, narrow: 54 } as const
/** Rows before the end at which the next page is read. */
const ahead = 30

export function DataTable<Item extends object>(props: DataTableProps<Item>) {
  const { label, list, columns, getKey, getRoute, empty, foot } = props
  const { items, isLoading, hasMore, problem, reload } = list
  const isNarrow = narrowWindow.use()
  const isWide = wideWindow.use()
  const scroller = useRef<HTMLDivElement>(null)
  const { table, visible, numbers } = useColumns({ columns, items, getKey, isNarrow, isWide })
  const { rows } = table.getRowModel()
  const template = visible.map(({ width }) => width).join(' ')
  const virtualizer = useVirtualRows(rows, scroller, isNarrow)
  const shown = virtualizer.getVirtualItems()
  useNextPage(list, rows.length - (shown.at(-1)?.index ?? 0))
  const active = useActiveRow(rows, scroller, (index) => virtualizer.scrollToIndex(index))

  if (isLoading) return <Loading label={`Loading ${label}`} />
  if (problem !== null && items.length === 0) return <Problem problem={problem} retry={reload} />
  if (items.length === 0 && !hasMore) return empty ?? <Empty title="Nothing here yet" />
  return (
    <div className="table-frame">
      {/* biome-ignore lint/a11y/useSemanticElements: rows that are not in view are not in the document */}
      <div
        ref={scroller}
        className="table scroller"
        role="table"
        aria-label={label}
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        tabIndex={0}
      >
        {/* biome-ignore lint/a11y/useSemanticElements: the same */}
        <div role="rowgroup" className="table-head">
          <TableHead table={table} template={template} numbers={numbers} />
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: the same */}
        <div role="rowgroup" className="table-body" style={{ height: virtualizer.getTotalSize() }}>
          {shown.map(({ index, key, start }) => {
            const row = rows[index]
            if (row === undefined) return null
            return (
              <TableRow
                key={key}
                id={row.id}
                item={row.original}
                index={index}
                start={start}
                isActive={row.id === active}
                columns={visible}
                template={template}
                route={getRoute?.(row.original) ?? null}
              />
            )
          })}
        </div>
      </div>
      {problem !== null && <Problem problem={problem} retry={reload} />}
      <TableFoot list={list}>{foot}</TableFoot>
    </div>
  )
}

function useVirtualRows(rows: readonly { id: string }[], scroller: RefObject<HTMLElement | null>, isNarrow: boolean) {
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? rowPx.narrow : rowPx.wide),
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 12,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the sizes are of the width
  useEffect(() => virtualizer.measure(), [isNarrow, virtualizer])
  return virtualizer
}

/** Reads the next page before the end is reached. `left` is the number of rows after the last one in view. */
function useNextPage({ hasMore, isLoadingMore, problem, loadMore }: List<object>, left: number): void {
  useEffect(() => {
    if (hasMore && !isLoadingMore && problem === null && left <= ahead) loadMore()
  }, [hasMore, isLoadingMore, problem, left, loadMore])
}

function TableFoot({ list, children }: { list: List<object>; children: ReactNode }) {
  const { items, hasMore, isLoadingMore } = list
  return (
    <div className="table-foot bar spread faint tiny">
      <p role="status">
        {items.length.toLocaleString('en')} shown{hasMore ? ', more below' : ''}
        {isLoadingMore ? ' · loading' : ''}
      </p>
      {children}
    </div>
  )
}

interface ColumnOptions<Item> extends Pick<DataTableProps<Item>, 'columns' | 'getKey'> {
  items: readonly Item[]
  isNarrow: boolean
  isWide: boolean
}

/** Returns the table of a list, with the columns for which there is room. */
function useColumns<Item extends object>({ columns, items, getKey, isNarrow, isWide }: ColumnOptions<Item>) {
  const definitions = useMemo(
    () => columns.map(({ id, header }): ColumnDef<Features, Item> => ({ id, header })),
    [columns],
  )
  const columnVisibility = useMemo(
    () =>
      Object.fromEntries(
        columns.map((column) => [column.id, isNarrow ? column.isNarrow === true : isWide || column.isWide !== true]),
      ),
    [columns, isNarrow, isWide],
  )
  const table = useTable({
    features,
    columns: definitions,
    data: items,
    getRowId: getKey,
    state: { columnVisibility },
  })
  const visible = useMemo(() => columns.filter(({ id }) => columnVisibility[id]), [columns, columnVisibility])
  const numbers = useMemo(() => new Set(columns.filter(({ isNumber }) => isNumber).map(({ id }) => id)), [columns])
  return { table, visible, numbers }
}

/** Returns the row that j and k, and the arrow keys while the table has focus, have chosen. */
function useActiveRow(
  rows: readonly { id: string }[],
  scroller: RefObject<HTMLDivElement | null>,
  scrollTo: (index: number) => void,
): string | null {
  const [active, setActive] = useState<string | null>(null)
  useRowKeys((step) => {
    if (rows.length === 0) return
    const before = rows.findIndex(({ id }) => id === active)
    const index = before === -1 ? 0 : Math.max(0, Math.min(rows.length - 1, before + step))
    const id = rows[index]?.id ?? null
    setActive(id)
    scrollTo(index)
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id ?? '')}"]`)?.focus()
    })
  })
  return active
}

interface TableHeadProps<Item extends object> {
  table: ReturnType<typeof useColumns<Item>>['table']
  template: string
  numbers: ReadonlySet<string>
}

function TableHead<Item extends object>({ table, template, numbers }: TableHeadProps<Item>) {
  return table.getHeaderGroups().map((group) => (
    // biome-ignore lint/a11y/useSemanticElements: the same
    // biome-ignore lint/a11y/useFocusableInteractive: the same
    <div key={group.id} role="row" className="table-row" style={{ gridTemplateColumns: template }}>
      {group.headers.map((header) => (
        // biome-ignore lint/a11y/useSemanticElements: the same
        // biome-ignore lint/a11y/useFocusableInteractive: the same
        <div key={header.id} role="columnheader" className={numbers.has(header.column.id) ? 'number' : undefined}>
          <table.FlexRender header={header} />
        </div>
      ))}
    </div>
  ))
}

/** Whether the window is as narrow as a phone's, where style alone cannot do it. */
const narrowWindow = mediaCell('(max-width: 760px)')
/** Whether there is room for the columns that matter least. */
const wideWindow = mediaCell('(min-width: 1240px)')
