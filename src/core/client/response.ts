/** Responses compared with the schemas of the contract. A client loads this when it has something to compare. */

import type { Endpoint } from '#contract/endpoint.ts'
import { ErrorBody } from '#contract/errors.ts'
import { contract, type EndpointId } from '#contract/index.ts'
import { SandboxEvent } from '#contract/resources/events.ts'
import { unescapeHtml } from '#foundation/html.ts'
import { type Json, maxNestingLevels, parseJson } from '#foundation/json.ts'
import { parseEventData, splitEventBlocks } from '#foundation/server-sent-events.ts'
import { ContractError } from './errors.ts'
import { type ByteReader, type ResponseMeta, readBytes } from './exchange.ts'

/** Returns the data of a successful response, and its differences from the contract. */
export function compareResponse(id: EndpointId, json: Json, sent: number): { data: unknown; differences: string[] } {
  const { response, status }: Endpoint = contract[id]
  const differences = sent === status ? [] : [`status ${sent} instead of ${status}`]
  if ('media_type' in response) return { data: json, differences }
  const { success, data, error } = response.safeParse(json)
  if (success) return { data, differences }
  const ofBody = error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
  return { data: json, differences: [...differences, ...ofBody] }
}

/**
 * Returns the data of a successful response with its meta, which has the differences from the contract.
 * @throws ContractError when there are some, unless they are reported
 */
export function validated(
  id: EndpointId,
  json: Json,
  meta: ResponseMeta,
  validation: true | 'report',
): { data: unknown; meta: ResponseMeta } {
  // What compares it walks through it.
  if (isDeep(json))
    throw new ContractError(id, meta.status, [`the body nests deeper than ${maxNestingLevels} levels`], meta.request_id)
  const { data, differences } = compareResponse(id, json, meta.status)
  if (differences.length > 0 && validation === true) {
    throw new ContractError(id, meta.status, differences, meta.request_id)
  }
  return { data, meta: { ...meta, differences } }
}

function isDeep(value: Json, levels = maxNestingLevels): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1))
}

/** Returns the error body of a response, or null when it has none. */
export function parseErrorBody(text: string): ErrorBody | null {
  return ErrorBody.safeParse(parseJson(text)).data ?? null
}

/**
 * Returns the end of a message about a response without the error body: the first words of its text, or the visible
 * words of a page, such as the reason why a frame is missing.
 */
export function describeOther(text: string, status: number, location: string | null = null): string {
  if (status >= 300 && status < 400)
    return `, a redirect${location === null ? '' : ` to ${location}`}. It was not followed.`
  const isPage = /^\s*<(!doctype|html)/i.test(text)
  const shown = isPage ? unescapeHtml(text.replace(unseen, ' ').replace(/<[^<>]*>/g, ' ')) : text
  const excerpt = shown.replace(/\s+/g, ' ').trim().slice(0, 200)
  const found = isPage ? ' and a page' : ', without the error body of the contract'
  return excerpt === '' ? `${found}.` : `${found}: ${excerpt}`
}

/** The parts of a page that are not shown. One that does not end takes the rest: no text is searched twice. */
const unseen = /<!--.*?(?:-->|$)|<(head|script|style|template)\b.*?(?:<\/\1>|(?=<body)|$)/gis

/** Events are small: this is a stream that never ends one. */
const maxEventChars = 2 ** 20

/** Reads server-sent events to the end of the stream. Skips comments and events that do not match the contract. */
export async function* readEvents(reader: ByteReader): AsyncGenerator<SandboxEvent, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of readBytes(reader)) {
    const split = splitEventBlocks(rest + decoder.decode(bytes, { stream: true }))
    rest = split.rest
    if (rest.length > maxEventChars) throw new ContractError('events.stream', 200, ['an event does not end'], null)
    for (const block of split.blocks) {
      const event = SandboxEvent.safeParse(parseEventData(block)).data
      if (event !== undefined) yield event
    }
  }
}
