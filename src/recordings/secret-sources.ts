/** Where an exchange has secrets that only their place gives away: learnt before any part of it is written. */
import { findRole } from '#contract/recordings/field-roles.ts'
import { emailAddress, isFreeField, isSecretHeader } from '#contract/recordings/recorded-parts.ts'
import { describeRemoved } from '#contract/recordings/redaction.ts'
import { isObject } from '#foundation/json.ts'
import { findPersonalData } from '#foundation/personal-data/personal-data.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { SecretMemory } from './secret-memory.ts'

/** The prefix of a token in the field, parameter or header of this name, for one that has none. */
const kinds: Readonly<Record<string, string>> = {
  asset_token: 'ast',
  activation_token: 'at',
  beacon_token: 'bt',
  ticket: 'wst',
  secret_key: 'sk',
  publishable_key: 'pk',
}

function kindFor(name: string): string {
  return findEntry(kinds, name) ?? 'tok'
}

/** Learns the credentials in headers, by their names in lower case. */
export function learnHeaders(
  memory: SecretMemory,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): void {
  for (const [name, value = ''] of Object.entries(headers)) {
    if (!isSecretHeader(name)) continue
    for (const each of [value].flat()) {
      // `Bearer TOKEN`, `name=value; other=value`, or the value alone.
      for (const part of each.split(/[\s;,]+/)) {
        const secret = name.includes('cookie') ? part.slice(part.indexOf('=') + 1) : part
        if (secret.length >= minSecretLength) memory.learnSecret(secret, 'tok')
      }
    }
  }
}

/** Learns header values that are not kept, since they might be prose. @param kept the headers as the file has them */
export function learnProseHeaders(
  memory: SecretMemory,
  headers: Readonly<Record<string, string>>,
  kept: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(headers)) {
    if (kept[name] !== value && !credential.test(listDecoded(value).at(-1) ?? '')) learnProse(memory, value)
  }
}

/** A scheme and a token. */
const credential = /^\S+ \S+$/

/** Shorter ones are words, such as `Bearer` and `Path=/`. */
const minSecretLength = 12

/** Learns the tokens of a path and its query, and prose that strayed there. */
export function learnParameters(memory: SecretMemory, params: Readonly<Record<string, string>>, search: string): void {
  for (const [name, value] of [...Object.entries(params), ...new URLSearchParams(search)]) {
    if (findRole(name) === 'token') {
      for (const level of listDecoded(value)) memory.learnSecret(level, kindFor(name))
    } else {
      learnProse(memory, value)
      learnProse(memory, name)
    }
  }
}

/** The maximum number of encodings, one in the other. */
const maxLevels = 4

/** Returns a text, and the texts that it percent-encodes, at every level. */
function listDecoded(text: string): string[] {
  const levels = [text]
  for (let level = text; levels.length <= maxLevels && level.includes('%'); levels.push(level)) {
    const decoded = decodeLoosely(level)
    if (decoded === level) break
    level = decoded
  }
  return levels
}

function decodeLoosely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Learns the tokens, prompt texts and addresses of e-mail in a JSON value of a request, at any depth. */
export function learnRequest(memory: SecretMemory, value: unknown): void {
  walk(value, (name, text, path) => {
    if (findRole(name) === 'token') memory.learnSecret(text, kindFor(name))
    else if (name === 'prompt_text' || (path.includes('prompt') && name !== 'topic')) learnProse(memory, text)
    for (const [address] of text.matchAll(emailAddress)) memory.learnText(address, '[removed: e-mail address]')
    if (isFreeField(path) && findPersonalData(text).length > 0) memory.learnText(text, '[removed: personal data]')
  })
}

/** Learns every text of a body that the contract does not know, and the names of its fields. */
export function learnUnknown(memory: SecretMemory, value: unknown): void {
  learnRequest(memory, value)
  walk(value, (name, text) => {
    learnProse(memory, name)
    learnProse(memory, text)
  })
}

/** Learns a text with blanks in it, however it is encoded. */
function learnProse(memory: SecretMemory, text: string): void {
  const levels = listDecoded(text)
  if (!/\s|\w\+\w/.test(levels.at(-1) ?? '')) return
  for (const level of levels) memory.learnText(level, describeRemoved(text))
}

/** Learns the tokens of a JSON value of a response. */
export function learnResponse(memory: SecretMemory, value: unknown): void {
  walk(value, (name, text) => {
    if (findRole(name) === 'token') memory.learnSecret(text, kindFor(name))
  })
}

/** A token by its prefix, whatever follows: at least as long as one with 80 bits, and not all letters like a name in code. */
const prefixedToken = /(?<![A-Za-z0-9_])(?:ast|at|bt|wst)_(?=[A-Za-z._~-]*[0-9])[A-Za-z0-9._~-]{16,512}/g

/** Learns the tokens in a document, such as the one with which a frame sends its beacons. */
export function learnDocument(memory: SecretMemory, text: string): void {
  for (const [token] of text.matchAll(prefixedToken)) memory.learnSecret(token, 'tok')
}

const maxDepth = 32

/** Calls `visit` for every text with the name of its field, and for every other field with an empty text. */
function walk(
  value: unknown,
  visit: (name: string, text: string, path: readonly string[]) => void,
  name = '',
  path: readonly string[] = [],
): void {
  if (path.length > maxDepth) return
  visit(name, typeof value === 'string' ? value : '', path)
  if (typeof value === 'string') return
  if (Array.isArray(value)) for (const item of value) walk(item, visit, name, path)
  else if (isObject(value)) {
    for (const [field, inner] of Object.entries(value)) walk(inner, visit, field, [...path, field])
  }
}
