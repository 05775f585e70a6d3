/**
 * Fault rules: which requests a rule matches, and which matches it breaks. Pure: the caller keeps the counts and
 * provides the time.
 *
 * A rule's random draw is a hash of its seed and its match count. The same seed breaks the same requests in every run,
 * whatever other random numbers the sandbox draws.
 */

import { errorCodes, type ReasonCode, reasonCodes } from '#contract/errors.ts'
import type { Format } from '#contract/fields.ts'
import type { FaultDraft, FaultRule } from '#contract/resources/sandbox/faults.ts'
import { valueAt } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { tableNames } from '#foundation/table-entry.ts'

/** Returns the SHA-256 of a text, hexadecimal. */
export type Hash = (text: string) => string

/** The parts of a request that rules can depend on. */
export interface FaultRequest {
  method: string
  /** Without the query. */
  path: string
  /** The bearer credential, or the publishable key of an activation. */
  key: string | null
  session_id: string | null
  /** The formats that the request allows, or the format of its slot. */
  formats: readonly Format[]
}

type Defaulted = 'effect' | 'served' | 'retry_after_s' | 'retry_after_format' | 'latency_ms' | 'rate' | 'seed' | 'after'

export type Fault = Omit<FaultDraft, 'key'> & Pick<FaultRule, Defaulted> & { key?: KeyPrefix }

/** The prefix that a key must have. Rules are stored, so only the hash of a secret is kept. */
interface KeyPrefix {
  /** Redacted. */
  shown: string
  length: number
  /** Null when `shown` is the whole prefix. */
  sha256: string | null
}

const defaults: Pick<FaultRule, Defaulted> = {
  effect: 'error',
  served: false,
  retry_after_s: 1,
  retry_after_format: 'seconds',
  latency_ms: 0,
  rate: 1,
  seed: 1,
  after: 0,
}

export function completeRule({ key, ...draft }: FaultDraft, hash: Hash): Fault {
  const rule = { ...defaults, ...draft } as Fault
  return key === undefined ? rule : { ...rule, key: createPrefix(key, hash) }
}

function createPrefix(key: string, hash: Hash): KeyPrefix {
  const shown = redactSecrets(key)
  return { shown, length: key.length, sha256: shown === key ? null : hash(key) }
}

/** Returns the field of a rule that contains a key or token and would be stored as it is; null when there is none. */
export function findSecretField({ path, session_id, rewrite }: FaultDraft): 'path' | 'session_id' | 'rewrite' | null {
  const texts = { path, session_id, rewrite: JSON.stringify(rewrite) }
  for (const name of ['path', 'session_id', 'rewrite'] as const) {
    const text = texts[name]
    if (text !== undefined && redactSecrets(text) !== text) return name
  }
  return null
}

export interface FaultCount {
  matched: number
  /** Requests that the rule has broken. */
  injected: number
}

export function matchesRequest(rule: Fault, request: FaultRequest, hash: Hash): boolean {
  return (
    (rule.method === undefined || rule.method === request.method) &&
    (rule.path === undefined || pathMatches(rule.path, request.path)) &&
    (rule.key === undefined || (request.key !== null && hasPrefix(request.key, rule.key, hash))) &&
    (rule.session_id === undefined || rule.session_id === request.session_id) &&
    (rule.format === undefined || request.formats.includes(rule.format))
  )
}

/** Whether a path starts with the pattern. A pattern with `*` must match the whole path. */
export function pathMatches(pattern: string, path: string): boolean {
  if (!pattern.includes('*')) return path.startsWith(pattern)
  const parts = pattern.split('*')
  const first = parts.shift()!
  const last = parts.pop()!
  if (!path.startsWith(first) || path.length < first.length + last.length || !path.endsWith(last)) return false
  const end = path.length - last.length
  let at = first.length
  for (const part of parts) {
    const found = path.indexOf(part, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

function hasPrefix(key: string, { shown, length, sha256 }: KeyPrefix, hash: Hash): boolean {
  return sha256 === null ? key.startsWith(shown) : hash(key.slice(0, length)) === sha256
}

/**
 * Whether a rule depends on the session or the formats of a request: these have to be read from the body or the store.
 */
export function needsDetails(rule: Fault): boolean {
  return rule.session_id !== undefined || rule.format !== undefined
}

/** Counts one more matching request, and returns whether the rule breaks it. */
export function countMatch(rule: Fault, count: FaultCount): { isInjected: boolean; count: FaultCount } {
  const { matched, injected } = count
  const isInjected =
    matched >= rule.after &&
    (rule.times === undefined || injected < rule.times) &&
    random(rule.seed, matched, 0) < rule.rate
  return { isInjected, count: { matched: matched + 1, injected: isInjected ? injected + 1 : injected } }
}

const maxLatencyMs = 60_000

/** Returns how long the rule delays a request that `matched` others matched before, real milliseconds. */
export function drawLatency(rule: Fault, matched: number): number {
  const { seed, latency_ms, latency_max_ms, latency_sigma } = rule
  if (latency_sigma !== undefined) {
    const radius = Math.sqrt(-2 * Math.log(1 - random(seed, matched, 1)))
    const normal = radius * Math.cos(2 * Math.PI * random(seed, matched, 2))
    return Math.min(maxLatencyMs, Math.round(latency_ms * Math.exp(latency_sigma * normal)))
  }
  if (latency_max_ms === undefined) return Math.round(latency_ms)
  return Math.round(latency_ms + random(seed, matched, 1) * Math.max(0, latency_max_ms - latency_ms))
}

/** Returns the status and the reason code of an error response; either one implies the other. */
export function resolveError({ status, reason_code }: Fault): { status: number; reason_code: ReasonCode } {
  const reason = reason_code ?? findOnlyReason(status) ?? 'injected_fault'
  return { status: status ?? errorCodes[reasonCodes[reason].error].status, reason_code: reason }
}

function findOnlyReason(status: number | undefined): ReasonCode | null {
  const reasons = tableNames(reasonCodes).filter((reason) => errorCodes[reasonCodes[reason].error].status === status)
  return reasons.length === 1 ? reasons[0]! : null
}

/** Returns a copy of a response with values replaced by dotted path. Paths through anything but objects are ignored. */
export function rewriteFields(response: unknown, fields: Readonly<Record<string, unknown>>): unknown {
  const result = structuredClone(response)
  for (const [path, value] of Object.entries(fields)) {
    const end = path.lastIndexOf('.')
    const target = valueAt(result, path.slice(0, Math.max(end, 0)))
    if (typeof target !== 'object' || target === null) continue
    // Not by assignment, which would not create a property named __proto__.
    Object.defineProperty(target, path.slice(end + 1), { value, enumerable: true, configurable: true })
  }
  return result
}

/** Returns a number of [0, 1) from three integers (the finalizer of MurmurHash3, twice). */
function random(seed: number, matched: number, use: number): number {
  return mix(mix(seed * 3 + use) ^ matched) / 2 ** 32
}

function mix(value: number): number {
  let mixed = (value + 0x9e3779b9) >>> 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
