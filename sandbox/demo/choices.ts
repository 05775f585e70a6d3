/** The choices of the page, with their labels and hints. All of them are in the address, so any state can be shared. */
import options from '../../fixtures/demo/choices.json' with { type: 'json' }
import type { Format, JobType, NativeTemplateId } from '../../src/contract/fields.ts'

interface Option {
  label: string
  hint?: string
}

/** Every value of every choice; the first one is the default. Those of the contract are complete. */
export { options }

options satisfies Record<string, Record<string, Option>> & {
  surface: Record<JobType, Option>
  format: Record<Format | 'auto', Option>
  template: Record<NativeTemplateId | 'fitting', Option>
}

export type Choices = { [Name in keyof typeof options]: keyof (typeof options)[Name] }

/** Returns the values of a choice with their labels and hints. */
export function optionsOf<Name extends keyof Choices>(name: Name): (Option & { value: Choices[Name] })[] {
  const known: Record<string, Option> = options[name]
  return Object.entries(known).map(([value, option]) => ({ ...option, value: value as Choices[Name] }))
}

/** Returns the choices of a query string. A value that is missing or unknown is the default. */
export function readChoices(search: string): Choices {
  const query = new URLSearchParams(search)
  const entries = Object.entries(options).map(([name, known]) => {
    const value = query.get(name) ?? ''
    return [name, Object.hasOwn(known, value) ? value : Object.keys(known)[0]]
  })
  return Object.fromEntries(entries) as Choices
}

/**
 * Returns the shortest query string that reads as these choices, with its question mark. It keeps the admin token of
 * `search`: beyond loopback the page cannot be loaded again without it.
 */
export function writeChoices(choices: Choices, search = ''): string {
  const token = new URLSearchParams(search).get('token')
  const query = new URLSearchParams(token === null ? {} : { token })
  const defaults = readChoices('')
  for (const name of Object.keys(options) as (keyof Choices)[]) {
    if (choices[name] !== defaults[name]) query.set(name, choices[name])
  }
  return query.size === 0 ? '' : `?${query}`
}
