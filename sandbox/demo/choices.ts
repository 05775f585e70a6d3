/** The choices of the page, with their labels and hints. All of them are in the address, so any state can be shared. */
import type { Format, JobType, NativeTemplateId } from '../../src/contract/fields.ts'

type Option = readonly [label: string, hint?: string]

/** Every value of every choice; the first one is the default. */
export const options = {
  surface: {
    chat: ['Chat'],
    code: ['Code'],
    image: ['Image'],
    voice: ['Voice'],
    agent: ['Agent'],
  } satisfies Record<JobType, Option>,
  format: {
    native: ['Native', 'Laid out by a template, sized to its slot.'],
    banner: ['Banner', 'The largest standard size that fits. Test keys get a test creative.'],
    clip: ['Clip', 'Muted video, viewable after two seconds. Test keys get a test creative.'],
    auto: ['Auto', 'Any format may fill; the best price wins.'],
  } satisfies Record<Format | 'auto', Option>,
  template: {
    fitting: ['Fit', 'The template that suits this surface.'],
    card: ['Card', 'Picture above text.'],
    list_item: ['List', 'list_item: a thumbnail beside two lines.'],
    featured: ['Featured', 'Large picture, large title.'],
    minimal: ['Minimal', 'Text only.'],
  } satisfies Record<NativeTemplateId | 'fitting', Option>,
  outcome: {
    fill: ['Fill', 'The market decides. Open the decision for its trace.'],
    no_fill: ['No-fill', 'Forced with test_outcome, which needs a server test key.'],
    slow: ['Slow', 'Takes 4 s: pending first, then polled by slot_id.'],
  },
  consent: {
    granted: ['Granted', 'Topic and prompt text may be used for matching.'],
    denied: ['Denied', 'The decision is a no-fill; the evidence is kept.'],
    withdrawn: ['Withdrawn', 'Frames and beacons are refused until consent is granted again.'],
    expiring: ['Expiring', 'Ends after 8 s: the ad unmounts in mid-turn.'],
    unasked: ['Unasked', 'A new session. This project still fills, but without a topic.'],
  },
  integration: {
    server: ['Server', 'The backend requests with its secret key, which the page never sees.'],
    browser: ['Browser', 'The page requests with a token for its publishable key.'],
  },
  keep: {
    on: ['Keep ad', 'keepMounted: the ad stays until the next turn.'],
    off: ['Clear ad', 'Cleared with the turn, once its dwell is met.'],
  },
  theme: { system: ['System'], light: ['Light'], dark: ['Dark'] },
} satisfies Record<string, Record<string, Option>>

export type Choices = { [Name in keyof typeof options]: keyof (typeof options)[Name] }

/** Returns the values of a choice with their labels and hints. */
export function optionsOf<Name extends keyof Choices>(name: Name): [value: Choices[Name], ...Option][] {
  const known: Record<string, Option> = options[name]
  return Object.entries(known).map(([value, option]) => [value as Choices[Name], ...option])
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

/** Returns the shortest query string that reads as these choices, with its question mark. */
export function writeChoices(choices: Choices): string {
  const query = new URLSearchParams()
  const defaults = readChoices('')
  for (const name of Object.keys(options) as (keyof Choices)[]) {
    if (choices[name] !== defaults[name]) query.set(name, choices[name])
  }
  return query.size === 0 ? '' : `?${query}`
}
