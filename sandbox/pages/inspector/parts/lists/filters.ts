/** The filters of lists. They are in the address, so that a link shows the same list. */
import { useSearchParams } from 'wouter'
import { detectKind } from '../values/identifiers.ts'

export interface FilterChoice {
  name: string
  label: string
  kind: 'choice'
  /** Whether it is shown only while it is set: by the link of a figure. */
  isOnDemand?: boolean
  /** What is shown while it is not set; default: `any`. */
  unset?: string
  /** `projects`: every project of the sandbox. */
  values: readonly (readonly [value: string, label: string])[] | 'projects'
}

export interface FilterText {
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

export const projectFilter: FilterChoice = { name: 'client_id', label: 'Project', kind: 'choice', values: 'projects' }

export const slotFilter: FilterText = {
  name: 'slot_id',
  label: 'Slot',
  kind: 'text',
  isSearch: true,
  whole: { is: (text) => detectKind(text) === 'placement', hint: 'A full slot_id: slot_ and 11 characters' },
}

export const sinceFilter = createChoice('since', 'Since', [
  ['5m', '5 minutes'],
  ['1h', '1 hour'],
  ['24h', '1 day'],
])

/** The filters of the address that are set, by name. */
export type FilterValues = Readonly<Record<string, string>>

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

export function hasWords(text: string, search: string): boolean {
  const lower = text.toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}
