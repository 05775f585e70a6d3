/** A row of a table, memoised: one that stays is not drawn again while the list scrolls and grows. */
import { memo, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { nothing } from '../values/Chip.tsx'
import type { Column } from './columns.tsx'

interface RowProps<Item> {
  id: string
  item: Item
  index: number
  /** From the top of the list, pixels. */
  start: number
  isActive: boolean
  columns: readonly Column<Item>[]
  template: string
  route: string | null
}

export const TableRow = memo(function Row<Item>({
  id,
  item,
  index,
  start,
  isActive,
  columns,
  template,
  route,
}: RowProps<Item>) {
  const [, navigate] = useLocation()
  const open = () => {
    if (route !== null) navigate(route)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows that are not in view are not in the document
    <div
      role="row"
      aria-rowindex={index + 2}
      data-row={id}
      data-active={isActive || undefined}
      tabIndex={-1}
      className={route === null ? 'table-row' : 'table-row linked'}
      style={{ gridTemplateColumns: template, transform: `translateY(${start}px)` }}
      onClick={(event) => {
        if (!(event.target instanceof Element) || event.target.closest('a, button, label') === null) open()
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && event.target === event.currentTarget) open()
      }}
    >
      {columns.map(({ id: column, isNumber, cell }) => (
        // biome-ignore lint/a11y/useSemanticElements: the same
        <div key={column} role="cell" className={isNumber ? 'number clipped' : 'clipped'}>
          {(cell === undefined ? (item[column as keyof Item] as ReactNode) : cell(item)) ?? nothing}
        </div>
      ))}
    </div>
  )
}) as <Item>(props: RowProps<Item>) => ReactNode
