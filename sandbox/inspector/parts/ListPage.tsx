/** A page that fills the window with a list: its filters, which are in the address, and the table that they select. */
import { type ReactNode, useState } from 'react'
import { type Filter, FilterBar, type FilterValues, useFilters } from './Filters.tsx'
import { Page, type PageProps } from './Panel.tsx'
import { Empty } from './States.tsx'

/** What a table is given beside its query. */
interface Listed {
  isLive: boolean
  empty: ReactNode
}

interface ListPageProps extends Pick<PageProps, 'title' | 'lead' | 'actions'> {
  filters: readonly Filter[]
  /** Whether new items can be held back. */
  isPausable?: boolean
  /** What the list is of, when none matches the filters: `placement`. */
  noun: string
  /** Shown when there is nothing, without any filter. */
  empty: ReactNode
  /** Shown above the filters. */
  above?(values: FilterValues): ReactNode
  children(values: FilterValues, listed: Listed): ReactNode
}

export function ListPage({ filters, isPausable = false, noun, empty, above, children, ...page }: ListPageProps) {
  const [values, change] = useFilters(filters)
  const [isLive, setLive] = useState(true)
  const isFiltered = Object.keys(values).length > 0
  const none = (
    <Empty icon="filter" title={`No ${noun} matches these filters`}>
      Clear a filter to see more.
    </Empty>
  )
  return (
    <Page isFull {...page}>
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
