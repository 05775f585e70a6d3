/**
 * The state of the playground: every choice of the form. It is in the address, so any state is a link, and becomes the
 * body of a placement request.
 */

import { formatFacts, formats } from '#contract/facts/formats.ts'
import { isObject, type Json, type JsonObject, parseJson } from '#foundation/json.ts'
import { tableNames } from '#foundation/table-entry.ts'

/** Every choice with its values and their labels; the first is the default. Free texts have none. */
export const choices = {
  as: [
    ['server', 'Server'],
    ['browser', 'Browser'],
  ],
  job_type: [
    ['chat', 'Chat'],
    ['code', 'Code'],
    ['image', 'Image'],
    ['voice', 'Voice'],
    ['agent', 'Agent'],
  ],
  format: [['any', 'Any'], ...formats.map((format) => [format, formatFacts[format].label] as const)],
  template: [
    ['default', 'Project default'],
    ['card', 'Card'],
    ['list_item', 'List item'],
    ['featured', 'Featured'],
    ['minimal', 'Minimal'],
  ],
  consent: [
    ['both', 'topic and prompt'],
    ['topic', 'topic only'],
    ['denied', 'denied'],
    ['none', 'left out: the stored consent counts'],
  ],
  position: [
    ['default', 'Project default'],
    ['inline', 'Inline'],
    ['above', 'Above'],
    ['below', 'Below'],
    ['between', 'Between'],
    ['sidebar', 'Sidebar'],
  ],
  outcome: [
    ['fill', 'Fill'],
    ['no_fill', 'No-fill'],
  ],
} as const

const texts = [
  'project',
  'key',
  'topic',
  'text',
  'max_width',
  'max_height',
  'wait_ms',
  'overrides',
  'campaign',
  'scenario',
  'session',
] as const

export type Choice = keyof typeof choices
export type TextChoice = (typeof texts)[number]
export type PlaygroundState = { [Name in Choice]: (typeof choices)[Name][number][0] } & { [Name in TextChoice]: string }

export const labelledValues: { readonly [Name in Choice]: readonly (readonly [PlaygroundState[Name], string])[] } =
  choices

/** The state of an address without choices: a fill for a topic, with consent. Texts are empty where the sandbox decides. */
export const defaultState = {
  ...Object.fromEntries(Object.entries(choices).map(([name, [[value]]]) => [name, value])),
  ...Object.fromEntries(texts.map((name) => [name, ''])),
  topic: 'coffee',
} as PlaygroundState

/** Returns the state of a query string. A value that is missing or unknown is the default; no text exceeds 8,000 characters. */
export function readState(search: string): PlaygroundState {
  const query = new URLSearchParams(search)
  const state: Record<string, string> = { ...defaultState }
  for (const [name, values] of Object.entries(choices)) {
    const value = query.get(name)
    if (value !== null && values.some(([known]) => known === value)) state[name] = value
  }
  for (const name of texts) state[name] = (query.get(name) ?? state[name]!).slice(0, 8_000)
  return state as PlaygroundState
}

/** Returns the shortest query string that reads as this state, without its question mark. */
export function writeState(state: PlaygroundState): string {
  const query = new URLSearchParams()
  for (const name of tableNames(defaultState)) {
    if (state[name] !== defaultState[name]) query.set(name, state[name])
  }
  return query.toString()
}

/** A field of the form whose text cannot be sent, and what to write instead. */
export interface FieldProblem {
  field: TextChoice
  message: string
}

/** Returns the problems of texts that become numbers or JSON. All other checks are left to the API. */
export function findProblems(state: PlaygroundState): FieldProblem[] {
  const problems: FieldProblem[] = []
  for (const field of ['max_width', 'max_height', 'wait_ms'] as const) {
    if (!/^\d{0,9}$/.test(state[field])) problems.push({ field, message: 'Enter a whole number.' })
  }
  if (state.overrides.trim() !== '' && !isObject(parseJson(state.overrides))) {
    problems.push({ field: 'overrides', message: 'Enter a JSON object, such as {"bidfloor": 2}.' })
  }
  return problems
}

/** Defaults for the choices that a state leaves open: `max_width` is the slot's, CSS pixels. */
interface OpenChoices {
  client_id: string
  session_id: string
  max_width?: number
}

export function placementBody(state: PlaygroundState, open: OpenChoices): JsonObject {
  const { topic, text, format, template, position, consent } = state
  const prompt = defined({ topic: topic || undefined, text: text || undefined })
  const slot_hint = defined({
    position: position === 'default' ? undefined : position,
    max_width: parseNumber(state.max_width) ?? open.max_width,
    max_height: parseNumber(state.max_height),
  })
  const more = parseJson(state.overrides)
  const overrides = {
    ...defined({
      allowed_formats: format === 'any' ? undefined : [format],
      native_template_id: template === 'default' || !['any', 'native'].includes(format) ? undefined : template,
      force_campaign_id: state.campaign || undefined,
    }),
    ...(isObject(more) ? more : {}),
  }
  return defined({
    client_id: state.project || open.client_id,
    session_id: state.session || open.session_id,
    job_type: state.job_type,
    wait_ms: parseNumber(state.wait_ms),
    test_outcome: state.outcome === 'no_fill' ? 'no_fill' : undefined,
    prompt: orNone(prompt),
    slot_hint: orNone(slot_hint),
    overrides: orNone(overrides),
    consent: consent === 'none' ? undefined : toConsent(consent),
  })
}

function toConsent(consent: 'both' | 'topic' | 'denied'): JsonObject {
  return { semantic_targeting: consent !== 'denied', prompt_shared: consent === 'both' }
}

function parseNumber(text: string): number | undefined {
  return text === '' ? undefined : Number(text)
}

function orNone(object: JsonObject): JsonObject | undefined {
  return Object.keys(object).length === 0 ? undefined : object
}

function defined(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, Json] => field[1] !== undefined))
}
