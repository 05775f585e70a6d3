/**
 * Fault rules: whether one matches a request, and by which dice it meets it. Pure: the caller keeps what a rule has
 * counted and tells the time.
 *
 * The dice of a rule are a hash of its seed and of how many matching requests came before, so that the same seed breaks
 * the same requests in every run, whatever else the sandbox draws.
 */
import type { FaultDraft, FaultRule } from '../../src/contract/control/faults.ts'
import { type ErrorCode, errorCodes, type ReasonCode, reasonCodes } from '../../src/contract/errors.ts'
import type { Format } from '../../src/contract/fields.ts'
import { redactSecrets } from '../../src/foundation/redaction.ts'
import { pathMatches } from './request-match.ts'

/** SHA-256 of a text, hexadecimal. */
export type Hash = (text: string) => string

/** What rules look at of a request. */
export interface FaultRequest {
  method: string
  /** Without the query. */
  path: string
  /** The bearer, or the publishable key of an activation. */
  key: string | null
  session_id: string | null
  /** Formats that it allows, or that of the slot it is about. */
  formats: readonly Format[]
}

type Settled = 'effect' | 'served' | 'retry_after_s' | 'retry_after_format' | 'latency_ms' | 'rate' | 'seed' | 'after'

/** A rule with everything that it did not say. */
export type Fault = Omit<FaultDraft, 'key'> & Pick<FaultRule, Settled> & { key?: KeyBeginning }

/** What a key must begin with. Of a secret only the hash is kept, since rules are stored with everything else. */
export interface KeyBeginning {
  /** Redacted. */
  shown: string
  length: number
  /** Null where `shown` is all of it. */
  sha256: string | null
}

const defaults: Pick<FaultRule, Settled> = {
  effect: 'error',
  served: false,
  retry_after_s: 1,
  retry_after_format: 'seconds',
  latency_ms: 0,
  rate: 1,
  seed: 1,
  after: 0,
}

/** `hash` answers the SHA-256 of a text. */
export function settle({ key, ...draft }: FaultDraft, hash: Hash): Fault {
  const rule = { ...defaults, ...draft } as Fault
  return key === undefined ? rule : { ...rule, key: beginningOf(key, hash) }
}

function beginningOf(key: string, hash: Hash): KeyBeginning {
  const shown = redactSecrets(key)
  return { shown, length: key.length, sha256: shown === key ? null : hash(key) }
}

/** Where a rule names a secret that would be kept as it is: in its path, or in what it rewrites. */
export function secretIn({ path, session_id, rewrite }: FaultDraft): 'path' | 'session_id' | 'rewrite' | null {
  const told = { path, session_id, rewrite: JSON.stringify(rewrite) }
  for (const name of ['path', 'session_id', 'rewrite'] as const) {
    const text = told[name]
    if (text !== undefined && redactSecrets(text) !== text) return name
  }
  return null
}

export interface FaultCount {
  /** Requests that matched. */
  matched: number
  /** Requests that the rule met. */
  injected: number
}

export function matches(rule: Fault, request: FaultRequest, hash: Hash): boolean {
  return (
    (rule.method === undefined || rule.method.toUpperCase() === request.method) &&
    (rule.path === undefined || pathMatches(rule.path, request.path)) &&
    (rule.key === undefined || (request.key !== null && begins(request.key, rule.key, hash))) &&
    (rule.session_id === undefined || rule.session_id === request.session_id) &&
    (rule.format === undefined || request.formats.includes(rule.format))
  )
}

function begins(key: string, { shown, length, sha256 }: KeyBeginning, hash: Hash): boolean {
  return sha256 === null ? key.startsWith(shown) : key.length >= length && hash(key.slice(0, length)) === sha256
}

/** Whether a rule needs to know the session or the formats of a request: they cost a look into body and store. */
export function needsDetails(rule: Fault): boolean {
  return rule.session_id !== undefined || rule.format !== undefined
}

/** One more matching request: whether the rule meets it, and what it has counted then. */
export function meet(rule: Fault, count: FaultCount): { isMet: boolean; count: FaultCount } {
  const { matched, injected } = count
  const isMet =
    matched >= rule.after &&
    (rule.times === undefined || injected < rule.times) &&
    dice(rule.seed, matched, 0) < rule.rate
  return { isMet, count: { matched: matched + 1, injected: isMet ? injected + 1 : injected } }
}

const longestLatency_ms = 60_000

/** How long the rule holds up the request that was the `matched`th to match, real milliseconds. */
export function latencyOf(rule: Fault, matched: number): number {
  const { seed, latency_ms, latency_max_ms, latency_sigma } = rule
  if (latency_sigma !== undefined) {
    const radius = Math.sqrt(-2 * Math.log(1 - dice(seed, matched, 1)))
    const normal = radius * Math.cos(2 * Math.PI * dice(seed, matched, 2))
    return Math.min(longestLatency_ms, Math.round(latency_ms * Math.exp(latency_sigma * normal)))
  }
  if (latency_max_ms === undefined) return Math.round(latency_ms)
  return Math.round(latency_ms + dice(seed, matched, 1) * Math.max(0, latency_max_ms - latency_ms))
}

/** The status and the cause of an error that a rule answers with; each follows from the other. */
export function errorOf({ status, reason_code }: Fault): { status: number; reason_code: ReasonCode } {
  const reason = reason_code ?? onlyReasonOf(status) ?? 'injected_fault'
  return { status: status ?? errorCodes[reasonCodes[reason].error].status, reason_code: reason }
}

/** An answer with some of its members replaced, by dotted path; one that is no object stays as it is. */
export function rewritten(answer: unknown, members: Readonly<Record<string, unknown>>): unknown {
  const result = structuredClone(answer)
  for (const [path, value] of Object.entries(members)) {
    const names = path.split('.')
    const last = names.pop()!
    let target = result
    for (const name of names) target = isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined
    if (isObject(target)) Object.defineProperty(target, last, { value, enumerable: true, configurable: true })
  }
  return result
}

function onlyReasonOf(status: number | undefined): ReasonCode | null {
  const reasons = (Object.keys(reasonCodes) as ReasonCode[]).filter(
    (reason) => errorCodes[reasonCodes[reason].error as ErrorCode].status === status,
  )
  return reasons.length === 1 ? reasons[0]! : null
}

/** A number of [0, 1) from three integers (the finalizer of MurmurHash3, twice). */
function dice(seed: number, matched: number, use: number): number {
  return mix(mix(seed * 3 + use) ^ matched) / 2 ** 32
}

function mix(value: number): number {
  let mixed = (value + 0x9e3779b9) >>> 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
