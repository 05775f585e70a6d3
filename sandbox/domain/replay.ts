/**
 * Restores a request from what the journal stores: asset tokens are known by their slot and put back, values are set, and
 * prompt text is left out. Values that are still redacted then are missing: they cannot be guessed.
 */
import type { NotRestored } from '../../src/contract/control/requests.ts'
import type { FieldError } from '../../src/contract/errors.ts'
import { isObject, parseJson, setValue } from '../../src/foundation/json.ts'

export interface StoredRequest {
  /** Path and query. */
  path: string
  body: string | null
}

interface RestoredBody extends StoredRequest {
  left_out: NotRestored[]
  missing: FieldError[]
}

const assetToken = /\bast_([0-9a-z]{11})_redacted/g
const redacted =
  /\b(?:ast|at|bt)_[0-9a-z]{11}_redacted|\b[sp]k_(?:test|live)_redacted|\[removed[:\]]|\[name\]|\[nested deeper\]/
const removedText = /^\[removed: \d+ characters\]$/

/** Returns the slots whose asset tokens a request contains, as their encoded integers. */
export function slotsNamed({ path, body }: StoredRequest): string[] {
  return [...`${path} ${body ?? ''}`.matchAll(assetToken)].map(([, slot]) => slot!)
}

/**
 * Returns the request with its asset tokens, the values of `set` by dotted path, and the list of what could not be
 * restored. `tokenOf` returns the asset token of a slot; null leaves it redacted.
 */
export function restoreBody(
  stored: StoredRequest,
  set: Readonly<Record<string, unknown>>,
  tokenOf: (slot: string) => string | null,
): RestoredBody {
  const withTokens = (text: string) => text.replace(assetToken, (found, slot: string) => tokenOf(slot) ?? found)
  const path = withTokens(stored.path)
  const missing = redacted.test(path) ? [missingAt('path', 'a new request: the path cannot be set')] : []
  const text = stored.body ?? ''
  if (text === '' && Object.keys(set).length === 0) return { path, body: null, left_out: [], missing }
  const restored = withTokens(text)
  const body: unknown = parseJson(restored === '' ? '{}' : restored)
  if (!isObject(body)) return { path, body: restored, left_out: [], missing: [...missing, ...missingBody(body, set)] }
  const unset = Object.entries(set).filter(([name, value]) => !setValue(body, name.split('.'), value))
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
        expected: 'a dotted path of fields; in an array an index, or the next one',
      })),
      ...redactedPaths(body, []).map((name) => missingAt(name, `a value in set: --set ${name}=...`)),
    ],
  }
}

function missingAt(path: string, expected: string): FieldError {
  return { path, message: 'is not kept', expected }
}

/** For a body that is not an object: JSON can be sent as it is, but nothing can be set in it. */
function missingBody(body: unknown, set: Readonly<Record<string, unknown>>): FieldError[] {
  if (body === undefined) return [missingAt('body', 'a new request: the body was not JSON')]
  const unset = Object.keys(set).map((path) => ({
    path,
    message: 'cannot be set',
    expected: 'a request whose body is a JSON object',
  }))
  return [...unset, ...redactedPaths(body, []).map((path) => missingAt(path, 'a new request'))]
}

/** Removes prompts whose text the journal does not store. */
function leaveOutPrompt(body: Record<string, unknown>): NotRestored[] {
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

function redactedPaths(value: unknown, path: readonly string[]): string[] {
  if (typeof value === 'string') return redacted.test(value) ? [path.join('.') || 'body'] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const innerPath = [...path, name]
    return redacted.test(name) ? [innerPath.join('.')] : redactedPaths(inner, innerPath)
  })
}
