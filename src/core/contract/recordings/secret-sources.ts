/** Where an exchange has secrets that only their place gives away: learnt before any part of it is written. */

import { isObject } from '#foundation/json.ts'
import { findPersonalData } from '#foundation/personal-data/personal-data.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { isFreeField, removedEmail, replaceEmails } from './recorded-parts.ts'
import { describeRemoved } from './redaction.ts'
import { isValueName } from './secret-fields.ts'
import type { SecretMemory } from './secret-memory.ts'
import { isSecretText, isTokenName, isUnknownSecret, type Secrecy, secrecyIn } from './secret-names.ts'
import { pairNames } from './secret-shapes.ts'

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

/** Learns header values that are not kept, since they might be prose. @param kept the headers as the file has them */
export function collectFromProseHeaders(
  memory: SecretMemory,
  headers: Readonly<Record<string, string>>,
  kept: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(headers)) {
    if (kept[name] !== value && !credential.test(listDecoded(value).at(-1) ?? '')) collectFromProse(memory, value)
  }
}

/** A scheme and a token. */
const credential = /^\S+ \S+$/

/** Shorter ones are words, such as `Bearer` and `Path=/`. */
export const minSecretLength = 12

/** Learns the tokens of a path and its query, and prose that strayed there. */
export function collectFromParameters(
  memory: SecretMemory,
  params: Readonly<Record<string, string>>,
  search: string,
): void {
  for (const [name, value] of [...Object.entries(params), ...new URLSearchParams(search)]) {
    if (isTokenName(name) || isUnknownSecret(name)) {
      for (const level of listDecoded(value)) {
        if (isTokenName(name)) memory.collectSecret(level, kindFor(name))
        else if (isSecretText(level, name) && !isAddress(level)) memory.collectCredential(level)
      }
    } else {
      collectFromProse(memory, value)
      collectFromProse(memory, name)
    }
  }
}

/** The maximum number of encodings, one in the other. */
const maxLevels = 4

/** Returns a text, and the texts that it percent-encodes, at every level. */
export function listDecoded(text: string): string[] {
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
  walk(value, (name, text, path, secrecy) => {
    if (isTokenName(name) || !isOwnCredential(text, name, secrecy)) learnField(memory, name, text, secrecy)
    else memory.collectCredential(text)
    if (name === 'prompt_text' || (path.includes('prompt') && name !== 'topic')) collectFromProse(memory, text)
    for (const address of listEmails(text)) memory.collectFromText(address, removedEmail)
    if (isFreeField(path) && findPersonalData(text).length > 0) memory.collectFromText(text, '[removed: personal data]')
  })
}

/** Whether a client authenticates with a text of a request: its name says so. A value like the name is that of a form. */
function isOwnCredential(text: string, name: string, secrecy: Secrecy): boolean {
  return isSecretText(text, name, secrecy) && !isAddress(text) && text.toLowerCase() !== name.toLowerCase()
}

/** A part of a form, with its name. */
const formPart = /\bname="([^"\r\n]{1,128})"[^\r\n]{0,256}(?:\r?\n[^\r\n]{1,256}){0,4}\r?\n\r?\n([^\r\n]{1,4096})/g

/** Learns from the body of a request that is a form: its parameters, or its parts. */
export function learnForm(memory: SecretMemory, content_type: string, text: string): void {
  if (/^application\/x-www-form-urlencoded\b/i.test(content_type)) collectFromParameters(memory, {}, text)
  if (!/^multipart\/form-data\b/i.test(content_type)) return
  for (const [, name = '', value = ''] of text.matchAll(formPart)) {
    if (isOwnCredential(value, name, 'none')) memory.collectCredential(value)
  }
}

/** Learns every text of a body that the contract does not know, and the names of its fields. */
export function learnUnknown(memory: SecretMemory, value: unknown): void {
  learnRequest(memory, value)
  walk(value, (name, text) => {
    collectFromProse(memory, name)
    collectFromProse(memory, text)
  })
}

/** Learns a text with blanks in it, however it is encoded. */
function collectFromProse(memory: SecretMemory, text: string): void {
  const levels = listDecoded(text)
  if (!/\s|\w\+\w/.test(levels.at(-1) ?? '')) return
  for (const level of levels) memory.collectFromText(level, describeRemoved(text))
}

/** Learns the tokens of a JSON value of a response. */
export function learnResponse(memory: SecretMemory, value: unknown): void {
  walk(value, (name, text, _, secrecy) => learnField(memory, name, text, secrecy))
}

/** Learns a token by the role of its field, or by its name where it looks like one: a word would be found in other places. */
function learnField(memory: SecretMemory, name: string, text: string, secrecy: Secrecy): void {
  if (isTokenName(name)) memory.collectSecret(text, kindFor(name))
  else if (text.length >= minSecretLength && isSecretText(text, name, secrecy) && isOpaque(text))
    memory.collectSecret(text, 'tok')
}

function isOpaque(text: string): boolean {
  return /[0-9]/.test(text) || text.length >= 2 * minSecretLength
}

/** A token by its prefix, whatever follows: at least as long as one with 80 bits. */
const prefixedToken = /(?<![A-Za-z0-9_])(?:ast|at|bt|wst)_[A-Za-z0-9._~-]{16,512}/g
/** A value beside a name, in a script or an attribute. */
const namedValue = /(?<![\w.-])([\w.-]{1,128})["']?\s{0,8}[:=]\s{0,8}["']([\w.~+/=-]{16,4096})["']/g

/** Learns the tokens in a document, such as the one with which a frame sends its beacons. The fields of JSON are learnt as such. */
export function learnDocument(memory: SecretMemory, text: string, isJson = false): void {
  // Letters alone are a name in code.
  for (const [token] of text.matchAll(prefixedToken)) if (isOpaqueWord(token)) memory.collectSecret(token, 'tok')
  if (isJson) return
  for (const [, name = '', value = ''] of text.matchAll(namedValue)) {
    if (isUnknownSecret(name) && isOpaqueWord(value)) memory.collectSecret(value, 'tok')
  }
}

function isOpaqueWord(text: string): boolean {
  return /[0-9]/.test(text) && /[A-Za-z]/.test(text)
}

export function listEmails(text: string): string[] {
  const found: string[] = []
  replaceEmails(text, (address) => {
    found.push(address)
    return address
  })
  return found
}

/** Returns the name of a secret in a pair of name and value; null for other objects. */
function findPairName(object: Record<string, unknown>): string | null {
  for (const field in object) {
    const name = object[field]
    if (typeof name === 'string' && pairNames.has(field.toLowerCase()) && isUnknownSecret(name)) return name
  }
  return null
}

const maxDepth = 32

/** Calls `visit` for every text with the name of its field, and for every other field with an empty text. */
function walk(
  value: unknown,
  visit: (name: string, text: string, path: readonly string[], secrecy: Secrecy) => void,
): void {
  // One path, which grows and shrinks: a copy for each field takes the time of its depth.
  const path: string[] = []
  const enter = (inner: unknown, name: string, secrecy: Secrecy) => {
    if (path.length > maxDepth) return
    visit(name, typeof inner === 'string' ? inner : '', path, secrecy)
    if (Array.isArray(inner)) for (const item of inner) enter(item, name, secrecyIn(name, secrecy))
    else if (isObject(inner)) {
      const pair_name = findPairName(inner)
      for (const field in inner) {
        path.push(field)
        enter(inner[field], pair_name !== null && isValueName(field) ? pair_name : field, secrecyIn(name, secrecy))
        path.pop()
      }
    }
  }
  enter(value, '', 'none')
}

/** A word, in any of the spellings of names, with a number at most: `hostedFrame`, `v1`, `300x250`. */
const plainWord =
  /^(?:(?:[A-Z]?[a-z]{1,20}(?:[A-Z][a-z]{2,19}){0,3}|[A-Z]{1,20})\d{0,4}|\d{1,4}[a-z]{1,10}|\d+|\d{1,5}x\d{1,5})$/
const date = /^\d{4}-?\d{2}-?\d{2}(?:$|[T_ ]\d{2})/

/** Whether a text is a path or a URL of the web. */
export function isAddress(text: string): boolean {
  return /^(?:(?:http|ws)s?:\/\/|\/[a-z][a-z\d_-]{0,30}(?:[/?]|$))/i.test(text)
}

/** Whether a text is an address, a date, or consists of words and numbers. */
export function isPlain(text: string): boolean {
  return (
    isAddress(text) ||
    date.test(text) ||
    text.split(/[^A-Za-z\d]+/).every((word) => word === '' || plainWord.test(word))
  )
}
