/** A page that fills the window with a list: the table, and the filters that select it. They are in the address, so that a link shows the same list. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Button, Input, SearchField, Text, ToggleButton } from 'react-aria-components'
import { useSearchParams } from 'wouter'
import { useLiveStatus } from '../data/live.ts'
import { useResource } from '../data/resource.ts'
import { SelectField } from './Fields.tsx'
import { Icon } from './Icon.tsx'
import { Empty, Page, type PageProps } from './Page.tsx'
import { detectKind } from './Values.tsx'

/** The properties of a table apart from its query. */
interface Listed {
  isLive: boolean
  empty: ReactNode
}

interface ListPageProps extends Pick<PageProps, 'title' | 'lead' | 'actions'> {
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

interface FilterChoice {
  name: string
  label: string
  kind: 'choice'
  /** Whether it is shown only while it is set: by the link of a figure. */
  isOnDemand?: boolean
  /** `projects`: every project of the sandbox. */
  values: readonly (readonly [value: string, label: string])[] | 'projects'
}

interface FilterText {
  name: string
  label: string
  kind: 'text'
  isOnDemand?: never
  placeholder?: string
  /** Whether `/` focuses it. One per list. */
  isSearch?: boolean
  /**
   * Where the API accepts only whole values: whether a text is one. Other texts are not sent, and the field shows the
   * hint.
   */
  whole?: { is(text: string): boolean; hint: string }
}

export type ListFilter = FilterChoice | FilterText

/** Returns a filter with one of a few values; a value alone is its own label. */
export function createChoice(
  name: string,
  label: string,
  values: readonly (string | readonly [value: string, label: string])[],
): FilterChoice {
  return {
    name,
    label,
    kind: 'choice',
    values: values.map((value) => (typeof value === 'string' ? [value, value] : value)),
  }
}

/** Returns a filter that links set; it is shown while it is set. */
export function onDemand(name: string, label: string): FilterChoice {
  return { name, label, kind: 'choice', values: [], isOnDemand: true }
}

/** The filter of a project. */
export const projectFilter: FilterChoice = { name: 'client_id', label: 'Project', kind: 'choice', values: 'projects' }

/** The filter of a slot. */
export const slotFilter: FilterText = {
  name: 'slot_id',
  label: 'Slot',
  kind: 'text',
  isSearch: true,
  whole: { is: (text) => detectKind(text) === 'placement', hint: 'A full slot_id: slot_ and 11 characters' },
}

/** The filter that limits a list to newer items. */
export const sinceFilter = createChoice('since', 'Since', [
  ['5m', '5 minutes'],
  ['1h', '1 hour'],
  ['24h', '1 day'],
])

/** The filters of the address that are set, by name. */
type FilterValues = Readonly<Record<string, string>>

/** Returns the values of the address, and a function that changes one of them; '' clears it. */
export function useFilters(filters: readonly ListFilter[]): [FilterValues, (name: string, value: string) => void] {
  const [params, setParams] = useSearchParams()
  const values: Record<string, string> = {}
  for (const { name } of filters) {
    const value = params.get(name)
    if (value !== null && value !== '') values[name] = value
  }
  const change = (name: string, value: string) => setParams(withParam(name, value), { replace: true })
  return [values, change]
}

/** Returns a change of the address: one parameter gets a new value, and is removed when it is ''. */
export function withParam(name: string, value: string): (before: URLSearchParams) => URLSearchParams {
  return (before) => {
    const next = new URLSearchParams(before)
    if (value === '') next.delete(name)
    else next.set(name, value)
    return next
  }
}

/** Whether a text has every word of a search. */
export function hasWords(text: string, search: string): boolean {
  const lower = text.toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}

interface FilterBarProps {
  filters: readonly ListFilter[]
  values: FilterValues
  onChange(name: string, value: string): void
  /** Whether new items are shown as they arrive; left out where a list is not live. */
  live?: { isOn: boolean; onChange(isOn: boolean): void }
}

export function FilterBar({ filters, values, onChange, live }: FilterBarProps) {
  const isSet = filters.some(({ name }) => values[name] !== undefined)
  const isLost = useLiveStatus() === 'lost'
  return (
    // biome-ignore lint/a11y/useSemanticElements: a search of this page, not of a form
    <div role="search" className="filters">
      {filters.map((filter) =>
        filter.isOnDemand && values[filter.name] === undefined ? null : filter.kind === 'choice' ? (
          <Choice key={filter.name} filter={filter} value={values[filter.name] ?? ''} onChange={onChange} />
        ) : (
          <TextFilter key={filter.name} filter={filter} value={values[filter.name] ?? ''} onChange={onChange} />
        ),
      )}
      {isSet && (
        <Button
          className="small quiet"
          onPress={() => {
            for (const { name } of filters) onChange(name, '')
          }}
        >
          Clear
        </Button>
      )}
      {live !== undefined && (
        <ToggleButton
          className="small bar live-toggle"
          isSelected={live.isOn}
          onChange={live.onChange}
          {...(isLost && { 'data-lost': true })}
        >
          <span className="live-dot" /> {!live.isOn ? 'Paused' : isLost ? 'Waiting' : 'Live'}
        </ToggleButton>
      )}
    </div>
  )
}

interface FieldProps<F> {
  filter: F
  value: string
  onChange(name: string, value: string): void
}

function Choice({ filter: { name, label, values }, value, onChange }: FieldProps<FilterChoice>) {
  const { state } = useResource('projects.list', values === 'projects' ? { query: { limit: 1_000 } } : null)
  const projects = (state.data?.items ?? []).map(({ client_id }) => [client_id, client_id] as const)
  const known = values === 'projects' ? projects : values
  // A link may name one that is not in the list, or not yet.
  const options = value === '' || known.some(([id]) => id === value) ? known : [[value, value] as const, ...known]
  return (
    <SelectField
      label={label}
      value={value}
      options={[['', 'any'], ...options]}
      isSet={value !== ''}
      onChange={(chosen) => onChange(name, chosen)}
    />
  )
}

/** Every keystroke would read the list, so it waits until the typing pauses. */
const typingMs = 250

function TextFilter({ filter, value, onChange }: FieldProps<FilterText>) {
  const { name, label, placeholder, isSearch, whole } = filter
  const [text, setText] = useState(value)
  const typed = text.trim()
  const isPartial = typed !== '' && whole?.is(typed) === false
  const wanted = isPartial ? '' : typed
  const written = useRef(value)
  const id = useId()
  useEffect(() => {
    if (value === written.current) return
    written.current = value
    setText(value)
  }, [value])
  useEffect(() => {
    if (wanted === written.current) return
    const timer = setTimeout(() => {
      written.current = wanted
      onChange(name, wanted)
    }, typingMs)
    return () => clearTimeout(timer)
  }, [wanted, name, onChange])
  return (
    <SearchField className="field text-field" id={id} aria-label={label} value={text} onChange={setText}>
      <span className="field-box bar">
        <Icon name={isSearch ? 'search' : 'filter'} />
        <Input placeholder={placeholder ?? label} data-search={isSearch || undefined} />
        {isSearch && <kbd className="only-wide">/</kbd>}
        <Button className="copy soft clear" aria-label={`Clear ${label}`}>
          <Icon name="close" />
        </Button>
      </span>
      {isPartial && (
        <Text slot="description" className="hint faint">
          {whole?.hint}
        </Text>
      )}
    </SearchField>
  )
}
