/**
 * What two requests are compared by: their endpoint, and their fields without those that differ in every run, such as
 * identifiers, times, tokens and measurements. Identifiers are followed apart from it (script.ts).
 */
import type { FieldRole } from '#contract/recordings/field-roles.ts'
import type { RecordedExchange, RecordedId } from '#contract/recordings/recording.ts'
import type { Json } from '#foundation/json.ts'
import { type Field, listFields, listNames } from './fields.ts'

/** A request of either side. The body is as the redactor leaves it. */
export interface ComparedRequest extends Pick<RecordedExchange, 'params' | 'query'> {
  endpoint: RecordedId
  body: Json | string | null
}

type Compared = Pick<ComparedRequest, 'params' | 'query' | 'body'>

/** Roles whose values belong to one run. */
const ofOneRun: ReadonlySet<FieldRole> = new Set(['identifier', 'time', 'token', 'count'])

/** Fields, and everything below them, that a client measures, such as the room that a page has, or that depend on where it runs. */
const measured =
  /(?:^|[.[\]])(?:wait_ms|predicted_latency_ms|max_width|max_height|measurements|metadata|seq|publishable_key|callback_url)\b/

/** The text that stands for a removed one: the length of a prompt says nothing about a request. */
const removed = /^\[removed: \d+ characters\]$/

/** Returns the compared fields of a request by their path, in a fixed order. */
export function comparedFields({ params, query, body }: Compared): Map<string, string> {
  const fields = [...listFields({ ...params }, 'path'), ...listFields({ ...query }, 'query'), ...listFields(body)]
  const kept = fields.filter(isCompared).map(({ path, value }): [string, string] => [path, valueText(value)])
  return new Map(kept.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function isCompared({ path, role, value }: Field): boolean {
  return value !== null && !ofOneRun.has(role) && !measured.test(path)
}

function valueText(value: Field['value']): string {
  return typeof value === 'string' && removed.test(value) ? '[removed]' : JSON.stringify(value)
}

/** Returns the text of compared fields: the same for requests that have the same response to expect. */
export function formText(fields: ReadonlyMap<string, string>): string {
  return [...fields].map(([path, value]) => `${path}=${value}`).join('\n')
}

/** Returns the identifiers and tokens that a request names, those of its path first. */
export function namedThings({ params, body }: Pick<ComparedRequest, 'params' | 'body'>): string[] {
  return [...Object.values(params), ...listNames(body)]
}

/** Returns the session that a request names, as each form of a body does; null without one. */
export function findSession({ body }: Pick<ComparedRequest, 'body'>): string | null {
  const field = listFields(body).find(({ path }) => /(?:^|\.)(?:chat_)?session_id$/.test(path))
  return typeof field?.value === 'string' ? field.value : null
}
