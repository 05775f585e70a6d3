import type { ReactNode } from 'react'
import { Id } from '../values/Id.tsx'
import type { IdKind } from '../values/identifiers.ts'
import { Time } from '../values/Time.tsx'

interface ColumnLook {
  header: string
  /** A width of CSS grid: `120px`, `minmax(120px, 1fr)`. */
  width: string
  /** Whether it is shown on a narrow window too. */
  isNarrow?: boolean
  /** Whether it is left out in a window that is not wide, to keep the columns next to it from being cut off. */
  isWide?: boolean
  isNumber?: boolean
}

/** Fields that are shown unchanged. */
type PlainField<Item> = {
  [Name in keyof Item]: Item[Name] extends string | number | null ? Name : never
}[keyof Item]

/** Without `cell` it shows the field of its id. Where a cell has nothing, it shows a dash. */
export type Column<Item> = ColumnLook &
  ({ id: PlainField<Item> & string; cell?: undefined } | { id: string; cell(item: Item): ReactNode })

/** Returns the column of an identifier, which leads to its page. */
export function idColumn<Name extends string>(
  name: Name,
  header: string,
  kind: IdKind,
  width: string,
): Column<Readonly<Record<Name, string | null>>> {
  return { id: name, header, width, cell: (item) => <Id kind={kind} id={item[name]} /> }
}

/** The width of a time with its day. */
export const timeWidth = '116px'

export function timeColumn<Name extends string>(name: Name): Column<Readonly<Record<Name, number>>> {
  return {
    id: name,
    header: 'When',
    width: timeWidth,
    isNarrow: true,
    isNumber: true,
    cell: (item) => <Time at_ms={item[name]} />,
  }
}
