/**
 * The fault rules of a sandbox, newest first, each with its counts, and the scenario in use, at most one, that some of
 * them belong to. They are part of the stored state: every change and every request that a rule counts is written to
 * the database, so that snapshots, exports and restarts include them, and the same seed keeps breaking the same
 * requests.
 */

import { ApiError } from '#contract/errors.ts'
import { type FaultDraft, type FaultRule, maxFaults } from '#contract/resources/sandbox/faults.ts'
import {
  completeRule,
  countMatch,
  drawLatency,
  type Fault,
  type FaultRequest,
  findSecretField,
  type Hash,
  matchesRequest,
  needsDetails,
} from '#domain/faults.ts'
import type { MaybePromise } from '#foundation/maybe-promise.ts'
import type { FaultState, StoredFault } from '#store/store.ts'
import { createFaultState, type FaultStateHolder, type FaultStateServices } from './fault-state.ts'

/** A fault that applies to one request. */
export interface Injection {
  fault_id: string
  rule: Fault
  latency_ms: number
}

export interface Faults {
  /** Whether there are no rules. */
  readonly isEmpty: boolean
  /** Whether some rule depends on the session or the formats of a request. */
  readonly needsDetails: boolean
  /** Name of the scenario in use. */
  readonly scenario: string | null
  /**
   * Returns the first rule that the request matches, and counts it. Counts are stored with the next commit. Where nodes
   * share the store, the store counts each request, so the result is a promise.
   */
  inject(request: FaultRequest, now_ms: number): MaybePromise<Injection | null>
  /**
   * Adds a rule that is tried before the existing ones. @throws ApiError 400 when there are too many or it names a
   * secret
   */
  add(draft: FaultDraft, now_ms: number): Promise<FaultRule>
  list(): FaultRule[]
  /** Removes the rules that `matching` accepts and resolves to their number. */
  remove(matching: (rule: FaultRule) => boolean): Promise<number>
  /** Replaces the scenario in use and its rules; the first of `drafts` is tried first. null ends the scenario. */
  replaceScenario(scenario: string | null, drafts: readonly FaultDraft[], now_ms: number): Promise<void>
  /** Loads the rules from the database. */
  restore(): Promise<void>
}

export interface FaultServices extends FaultStateServices {
  hash: Hash
}

export function createFaults(services: FaultServices): Faults {
  const { store, hash } = services
  const state = createFaultState(services)
  const counter = createSharedCounter(state, hash)
  return {
    get isEmpty() {
      return state.current.rules.length === 0
    },
    get needsDetails() {
      return state.current.rules.some(({ rule }) => needsDetails(rule))
    },
    get scenario() {
      return state.current.scenario
    },
    inject(request, now_ms) {
      const { rules } = state.current
      if (!rules.some((stored) => ruleMatches(stored, { request, now_ms }, hash))) return null
      if (store.shared !== null) return counter.count(request, now_ms)
      const matched = matchRules(rules, { request, now_ms }, hash)
      state.saveCounts()
      return matched
    },
    async add(draft, now_ms) {
      refuseSecret(draft)
      const next = await state.change((before) => addRules(before, [draft], { now_ms, scenario: null, hash }))
      // Not from the current state: another rule may have been added in the meantime.
      return toRule(next.rules[0]!)
    },
    list: () => state.current.rules.map(toRule),
    async remove(matching) {
      let removed = 0
      await state.change((before) => {
        const rules = before.rules.filter((stored) => !matching(toRule(stored)))
        removed = before.rules.length - rules.length
        return removed === 0 ? before : { ...before, rules }
      })
      return removed
    },
    async replaceScenario(scenario, drafts, now_ms) {
      await state.change((before) => {
        const rules = before.rules.filter((stored) => stored.scenario === null)
        return addRules({ ...before, scenario, rules }, drafts, { now_ms, scenario, hash })
      })
    },
    restore: state.restore,
  }
}

interface TimedRequest {
  request: FaultRequest
  now_ms: number
}

interface UncountedRequest extends TimedRequest {
  resolve(matched: Injection | null): void
  reject(error: unknown): void
}

/** Counts requests for the rules that all nodes share: requests that arrive in the meantime are counted together. */
function createSharedCounter({ change }: FaultStateHolder, hash: Hash) {
  let uncounted: UncountedRequest[] = []
  let isCounting = false
  return {
    count: (request: FaultRequest, now_ms: number) =>
      new Promise<Injection | null>((resolve, reject) => {
        uncounted.push({ request, now_ms, resolve, reject })
        if (!isCounting) void countAll()
      }),
  }

  async function countAll(): Promise<void> {
    isCounting = true
    while (uncounted.length > 0) {
      const turn = uncounted
      uncounted = []
      try {
        let matched: (Injection | null)[] = []
        await change((before) => {
          const rules = before.rules.map((stored) => ({ ...stored }))
          matched = turn.map((timed) => matchRules(rules, timed, hash))
          return { ...before, rules }
        })
        for (const [index, { resolve }] of turn.entries()) resolve(matched[index]!)
      } catch (error) {
        for (const { reject } of turn) reject(error)
      }
    }
    isCounting = false
  }
}

function matchRules(rules: readonly StoredFault[], timed: TimedRequest, hash: Hash): Injection | null {
  for (const stored of rules) {
    if (!ruleMatches(stored, timed, hash)) continue
    const { rule, fault_id } = stored
    const { matched } = stored.count
    const { isInjected, count } = countMatch(rule, stored.count)
    stored.count = count
    if (isInjected) return { fault_id, rule, latency_ms: drawLatency(rule, matched) }
  }
  return null
}

function ruleMatches(stored: StoredFault, { request, now_ms }: TimedRequest, hash: Hash): boolean {
  return isInForce(stored, now_ms) && matchesRequest(stored.rule, request, hash)
}

function addRules(
  before: FaultState,
  drafts: readonly FaultDraft[],
  { now_ms, scenario, hash }: { now_ms: number; scenario: string | null; hash: Hash },
): FaultState {
  if (before.rules.length + drafts.length > maxFaults) throw tooManyRules()
  const added = before.added + drafts.length
  const rules = drafts.map((draft, index) => ({
    fault_id: `flt_${added - index}`,
    rule: completeRule(draft, hash),
    scenario,
    created_at_ms: now_ms,
    count: { matched: 0, injected: 0 },
  }))
  return { ...before, added, rules: [...rules, ...before.rules] }
}

function tooManyRules(): ApiError {
  return new ApiError('schema_invalid', {
    message: `A sandbox has at most ${maxFaults} fault rules.`,
    hint: 'Remove some: svc sandbox faults remove --all.',
  })
}

function refuseSecret(draft: FaultDraft): void {
  const path = findSecretField(draft)
  if (path === null) return
  throw new ApiError('secret_in_field', {
    message: 'The rule contains a key or a token, which the sandbox does not store.',
    hint: 'To break the requests of one key, set key: only a hash of it is stored.',
    fields: [{ path, message: 'contains a key or a token', expected: 'none; in a path, * stands for it' }],
  })
}

/** A rule that has expired is in force again when the clock is moved back. */
function isInForce({ rule, created_at_ms }: StoredFault, now_ms: number): boolean {
  return rule.ttl_ms === undefined || now_ms < created_at_ms + rule.ttl_ms
}

function toRule({ fault_id, rule: { key, ...rule }, scenario, created_at_ms, count }: StoredFault): FaultRule {
  return {
    fault_id,
    ...rule,
    ...(key === undefined ? {} : { key: key.shown }),
    scenario,
    created_at_ms,
    expires_at_ms: rule.ttl_ms === undefined ? null : created_at_ms + rule.ttl_ms,
    ...count,
  }
}
