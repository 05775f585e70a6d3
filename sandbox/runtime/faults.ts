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
import type { FaultState, Store, StoredFault } from '#store/store.ts'

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
  inject(request: FaultRequest, now_ms: number): Injection | null | Promise<Injection | null>
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

export interface FaultServices {
  store: Pick<Store, 'findFaults' | 'saveFaults' | 'updateFaults' | 'shared'>
  hash: Hash
  /** Called when counts cannot be stored. */
  report(error: unknown): void
}

const none: FaultState = { scenario: null, added: 0, rules: [] }

export function createFaults({ store, hash, report }: FaultServices): Faults {
  let state = none
  let isSaving = false

  /** Applies a change, undoes it when it cannot be stored, and resolves to the changed state. */
  const change = async (apply: (before: FaultState) => FaultState): Promise<FaultState> => {
    if (store.shared !== null) return changeStored(apply)
    const before = state
    const next = apply(before)
    if (next === before) return before
    state = next
    try {
      await store.saveFaults(() => state)
    } catch (error) {
      if (state === next) state = before
      throw error
    }
    return next
  }

  /** Numbers keep growing after a restore, so that an identifier never names two rules. */
  const numberedOn = (stored: FaultState | null): FaultState => {
    const { added, ...rest } = stored ?? none
    return { ...rest, added: Math.max(added, state.added) }
  }

  let turn: Promise<unknown> = Promise.resolve()

  /**
   * Runs the tasks that replace `state` with the stored state, one after the other: each sees what the earlier ones
   * stored.
   */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = turn.then(work)
    turn = result.catch(() => {})
    return result
  }

  /** Applies a change to the rules that all nodes share. */
  const changeStored = (apply: (before: FaultState) => FaultState): Promise<FaultState> =>
    inTurn(async () => {
      let changed = none
      await store.updateFaults((stored) => {
        changed = apply(numberedOn(stored))
        return changed
      })
      state = changed
      return changed
    })

  let matched: {
    request: FaultRequest
    now_ms: number
    resolve(met: Injection | null): void
    reject(error: unknown): void
  }[] = []
  let isCounting = false

  /** Counts requests for the rules that all nodes share: requests that arrive in the meantime are counted together. */
  const countStored = async () => {
    isCounting = true
    while (matched.length > 0) {
      const turn = matched
      matched = []
      try {
        let met: (Injection | null)[] = []
        await changeStored((before) => {
          const rules = before.rules.map((stored) => ({ ...stored }))
          met = turn.map(({ request, now_ms }) => matchRules(rules, request, now_ms))
          return { ...before, rules }
        })
        for (const [index, { resolve }] of turn.entries()) resolve(met[index]!)
      } catch (error) {
        for (const { reject } of turn) reject(error)
      }
    }
    isCounting = false
  }

  /** Returns the first rule that a request matches, and counts the request in the rule. */
  const matchRules = (rules: readonly StoredFault[], request: FaultRequest, now_ms: number): Injection | null => {
    for (const stored of rules) {
      if (!ruleMatches(stored, request, now_ms)) continue
      const { rule, fault_id } = stored
      const { matched } = stored.count
      const { isInjected, count } = countMatch(rule, stored.count)
      stored.count = count
      if (isInjected) return { fault_id, rule, latency_ms: drawLatency(rule, matched) }
    }
    return null
  }

  const ruleMatches = (stored: StoredFault, request: FaultRequest, now_ms: number) =>
    isInForce(stored, now_ms) && matchesRequest(stored.rule, request, hash)

  /** Stores the counts of all requests of a turn in one write. */
  const saveCounts = () => {
    if (isSaving) return
    isSaving = true
    const current = () => {
      isSaving = false
      return state
    }
    store.saveFaults(current).catch((error: unknown) => {
      isSaving = false
      report(error)
    })
  }

  const withRules = (before: FaultState, drafts: readonly FaultDraft[], scenario: string | null, now_ms: number) => {
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

  return {
    get isEmpty() {
      return state.rules.length === 0
    },
    get needsDetails() {
      return state.rules.some(({ rule }) => needsDetails(rule))
    },
    get scenario() {
      return state.scenario
    },
    inject(request, now_ms) {
      if (!state.rules.some((stored) => ruleMatches(stored, request, now_ms))) return null
      if (store.shared === null) {
        const met = matchRules(state.rules, request, now_ms)
        saveCounts()
        return met
      }
      return new Promise((resolve, reject) => {
        matched.push({ request, now_ms, resolve, reject })
        if (!isCounting) void countStored()
      })
    },
    async add(draft, now_ms) {
      refuseSecret(draft)
      const next = await change((before) => withRules(before, [draft], null, now_ms))
      // Not from `state`: another rule may have been added in the meantime.
      return toRule(next.rules[0]!)
    },
    list: () => state.rules.map(toRule),
    async remove(matching) {
      let removed = 0
      await change((before) => {
        const rules = before.rules.filter((stored) => !matching(toRule(stored)))
        removed = before.rules.length - rules.length
        return removed === 0 ? before : { ...before, rules }
      })
      return removed
    },
    async replaceScenario(scenario, drafts, now_ms) {
      await change((before) => {
        const rules = before.rules.filter((stored) => stored.scenario === null)
        return withRules({ ...before, scenario, rules }, drafts, scenario, now_ms)
      })
    },
    restore: () =>
      inTurn(async () => {
        state = numberedOn(await store.findFaults())
      }),
  }
}

function tooManyRules(): ApiError {
  return new ApiError('schema_invalid', {
    message: `A sandbox has at most ${maxFaults} fault rules.`,
    hint: 'Remove some: svc sandbox faults clear.',
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
