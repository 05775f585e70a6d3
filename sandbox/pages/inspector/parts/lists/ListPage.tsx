/** A page that fills the window with a list: the table, and the filters that select it. */
import { type ReactNode, useState } from 'react'
import { Page, type PageProps } from '../Page.tsx'
import { Empty } from '../Shown.tsx'
import { FilterBar } from './FilterBar.tsx'
import { type FilterValues, type ListFilter, useFilters } from './filters.ts'

/** The properties of a table apart from its query. */
interface Listed {
  isLive: boolean
  empty: ReactNode
}

interface ListPageProps extends Pick<PageProps, 'title' | 'lead'> {
  actions?(values: FilterValues): ReactNode
  filters: readonly ListFilter[]
  /** Whether new items can be held back. */
  isPausable?: boolean
  /** The noun of an item, for a list without matches: `placement`. */
  noun: string
  /** Shown when there is nothing, without any filter. */
  empty: ReactNode
  /** Shown above the filters. */
  above?(values: FilterValues): ReactNode
  children(values: FilterValues, listed: Listed): ReactNode
}

export function ListPage({
  filters,
  isPausable = false,
  noun,
  empty,
  actions,
  above,
  children,
  ...page
}: ListPageProps) {
  const [values, change] = useFilters(filters)
  const [isLive, setLive] = useState(true)
  const isFiltered = Object.keys(values).length > 0
  const none = (
    <Empty icon="filter" title={`No ${noun} matches these filters`}>
      Clear a filter to see more.
    </Empty>
  )
  return (
    <Page isFull actions={actions?.(values)} {...page}>
      {above?.(values)}
      <FilterBar
        filters={filters}
        values={values}
        onChange={change}
        {...(isPausable && { live: { isOn: isLive, onChange: setLive } })}
      />
      {children(values, { isLive, empty: isFiltered ? none : empty })}
    </Page>
  )
}
