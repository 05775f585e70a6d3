import { useEffect, useId, useRef, useState } from 'react'
import { Button, Input, SearchField, Text, ToggleButton } from 'react-aria-components'
import { useLiveStatus } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { SelectField } from '../Fields.tsx'
import { Icon } from '../Icon.tsx'
import type { FilterChoice, FilterText, FilterValues, ListFilter } from './filters.ts'

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

function Choice({ filter: { name, label, values, unset = 'any' }, value, onChange }: FieldProps<FilterChoice>) {
  const { state } = useResource('projects.list', values === 'projects' ? { query: { limit: 1000 } } : null)
  const projects = (state.data?.items ?? []).map(({ client_id }) => [client_id, client_id] as const)
  const known = values === 'projects' ? projects : values
  // A link may name one that is not in the list, or not yet.
  const options = value === '' || known.some(([id]) => id === value) ? known : [[value, value] as const, ...known]
  return (
    <SelectField
      label={label}
      value={value}
      options={[['', unset], ...options]}
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
