/** What the controls are set to. All of it is in the address, so that any state of the page can be shared. */
import type { Format, JobType, NativeTemplateId } from '../../src/contract/fields.ts'

export type Outcome = 'fill' | 'no_fill' | 'slow'
export type ConsentChoice = 'granted' | 'denied' | 'withdrawn' | 'expiring' | 'unasked'
export type Integration = 'server' | 'browser'
export type Theme = 'system' | 'light' | 'dark'

export interface Choices {
  surface: JobType
  format: Format | 'auto'
  /** `fitting`: the template that suits the surface. */
  template: NativeTemplateId | 'fitting'
  outcome: Outcome
  consent: ConsentChoice
  integration: Integration
  /** Leaves the ad when its turn finishes. */
  keep: 'on' | 'off'
  theme: Theme
}

type Values = { [Name in keyof Choices]: readonly Choices[Name][] }

/** Every value of every choice; the first one is what an address without it means. */
export const values: Values = {
  surface: ['chat', 'code', 'image', 'voice', 'agent'],
  format: ['native', 'banner', 'clip', 'auto'],
  template: ['fitting', 'card', 'list_item', 'featured', 'minimal'],
  outcome: ['fill', 'no_fill', 'slow'],
  consent: ['granted', 'denied', 'withdrawn', 'expiring', 'unasked'],
  integration: ['server', 'browser'],
  keep: ['on', 'off'],
  theme: ['system', 'light', 'dark'],
}

const names = Object.keys(values) as (keyof Choices)[]

/** The choices of a query string. What is missing or unknown is the default. */
export function readChoices(search: string): Choices {
  const query = new URLSearchParams(search)
  const entries = names.map((name) => {
    const known: readonly string[] = values[name]
    const wanted = query.get(name)
    return [name, wanted !== null && known.includes(wanted) ? wanted : known[0]]
  })
  return Object.fromEntries(entries) as Choices
}

/** The shortest query string that reads as these choices, with its question mark. */
export function writeChoices(choices: Choices): string {
  const query = new URLSearchParams()
  for (const name of names) if (choices[name] !== values[name][0]) query.set(name, choices[name])
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
