/**
 * A request as the journal keeps it, made whole again. Asset tokens are known by their slot and put back, members are set
 * anew, and prompt text is left out. What is redacted after that is missing: it cannot be guessed.
 */
import type { NotRestored } from '../../src/contract/control/requests.ts'
import type { FieldError } from '../../src/contract/errors.ts'

export interface KeptRequest {
  /** Path and query. */
  path: string
  body: string | null
}

export interface Restored extends KeptRequest {
  left_out: NotRestored[]
  missing: FieldError[]
}

type Json = Record<string, unknown>

const assetToken = /\bast_([0-9a-z]{11})_redacted/g
const redacted =
  /\b(?:ast|at|bt)_[0-9a-z]{11}_redacted|\b[sp]k_(?:test|live)_redacted|\[removed[:\]]|\[name\]|\[nested deeper\]/
const removedText = /^\[removed: \d+ characters\]$/

/** The slots whose asset tokens a request holds, as the letters of their identifiers. */
export function slotsNamed({ path, body }: KeptRequest): string[] {
  return [...`${path} ${body ?? ''}`.matchAll(assetToken)].map(([, letters]) => letters!)
}

/** `tokenOf` answers the asset token of a slot; null leaves it redacted. */
export function restore(
  kept: KeptRequest,
  set: Readonly<Record<string, unknown>>,
  tokenOf: (letters: string) => string | null,
): Restored {
  const whole = (text: string) => text.replace(assetToken, (found, letters: string) => tokenOf(letters) ?? found)
  const path = whole(kept.path)
  const missing = redacted.test(path) ? [missingAt('path', 'Send it anew: a path cannot be set.')] : []
  const text = kept.body ?? ''
  if (text === '' && Object.keys(set).length === 0) return { path, body: null, left_out: [], missing }
  const wholeText = whole(text)
  const body = parse(wholeText)
  if (!isObject(body)) return { path, body: wholeText, left_out: [], missing: [...missing, ...missingBody(body, set)] }
  const unset = Object.entries(set).filter(([name, value]) => !assign(body, name.split('.'), value))
  const left_out = leaveOutPrompt(body)
  return {
    path,
    body: JSON.stringify(body),
    left_out,
    missing: [
      ...missing,
      ...unset.map(([name]) => ({
        path: name,
        message: 'cannot be set',
        expected: 'a dotted path of members; a number within an array, or the next one',
      })),
      ...redactedMembers(body, []).map((name) => missingAt(name, `a value in set: --set ${name}=...`)),
    ],
  }
}

function missingAt(path: string, expected: string): FieldError {
  return { path, message: 'is not kept', expected }
}

/** A body that is no object: good as it is where it is JSON, but nothing can be set in it. */
function missingBody(body: unknown, set: Readonly<Record<string, unknown>>): FieldError[] {
  if (body === undefined) return [missingAt('body', 'Send it anew: it was not JSON.')]
  const members = Object.keys(set).map((path) => ({
    path,
    message: 'cannot be set',
    expected: 'a request whose body is a JSON object',
  }))
  return [...members, ...redactedMembers(body, []).map((path) => missingAt(path, 'Send it anew.'))]
}

/** Writes one member, with the objects and arrays on the way; false where an array has no such place. */
function assign(body: Json, path: readonly string[], value: unknown): boolean {
  let target: Json | unknown[] = body
  for (const [index, name] of path.entries()) {
    if (Array.isArray(target) && !(/^\d{1,6}$/.test(name) && Number(name) <= target.length)) return false
    const isLast = index === path.length - 1
    const present = Object.hasOwn(target, name) ? (target as Json)[name] : undefined
    const fresh = isLast ? value : isObject(present) || Array.isArray(present) ? present : emptyFor(path[index + 1]!)
    Object.defineProperty(target, name, { value: fresh, enumerable: true, configurable: true, writable: true })
    target = fresh as Json
  }
  return true
}

function emptyFor(name: string): Json | unknown[] {
  return /^\d+$/.test(name) ? [] : {}
}

/** Takes prompts away whose text the journal has not kept. */
function leaveOutPrompt(body: Json): NotRestored[] {
  const { prompt, context } = body
  const left_out: NotRestored[] = []
  if (isRemoved(prompt) || (isObject(prompt) && isRemoved(prompt.text))) {
    delete body.prompt
    left_out.push({ path: 'prompt', message: 'Left out: prompt text is never kept.' })
  }
  if (isObject(context) && isRemoved(context.prompt_text)) {
    delete context.prompt_text
    left_out.push({ path: 'context.prompt_text', message: 'Left out: prompt text is never kept.' })
  }
  return left_out
}

function isRemoved(value: unknown): boolean {
  return typeof value === 'string' && removedText.test(value)
}

function redactedMembers(value: unknown, path: readonly string[]): string[] {
  if (typeof value === 'string') return redacted.test(value) ? [path.join('.') || 'body'] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const inner = [...path, name]
    return redacted.test(name) ? [inner.join('.')] : redactedMembers(member, inner)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
