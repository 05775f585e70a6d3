/**
 * The fault rules of a sandbox, newest first, each with its counts, and the name of the scenario that some belong to.
 * They are part of the stored state: every change and every request that a rule counts is written to the database, so
 * that snapshots, exports and restarts include them, and the same seed keeps breaking the same requests.
 */
import { type FaultDraft, type FaultRule, mostFaults } from '../../src/contract/control/faults.ts'
import { ApiError } from '../../src/contract/errors.ts'
import {
  completeFault,
  countMatch,
  type Fault,
  type FaultRequest,
  type Hash,
  latencyOf,
  matches,
  needsDetails,
  secretIn,
} from '../domain/faults.ts'
import type { FaultState, Store, StoredFault } from '../store/store.ts'

/** A fault that one request meets. */
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
  /** Returns the first rule that the request meets, and counts it. Counts are stored with the next commit. */
  inject(request: FaultRequest, now_ms: number): Injection | null
  /** Adds a rule that is tried before the present ones. @throws ApiError 400 when there are too many or it names a secret */
  add(draft: FaultDraft, now_ms: number): Promise<FaultRule>
  list(): FaultRule[]
  /** Removes the rules that `matching` accepts and resolves to their number. */
  remove(matching: (rule: FaultRule) => boolean): Promise<number>
  /** Replaces the scenario in use and its rules; the first of `drafts` is tried first. null ends the scenario. */
  replaceScenario(scenario: string | null, drafts: readonly FaultDraft[], now_ms: number): Promise<void>
  /** Loads the rules that the database holds. */
  restore(): Promise<void>
}

export interface FaultServices {
  store: Pick<Store, 'findFaults' | 'saveFaults'>
  hash: Hash
  /** Called when counts cannot be stored. */
  report(error: unknown): void
}

const none: FaultState = { scenario: null, added: 0, rules: [] }

export function createFaults({ store, hash, report }: FaultServices): Faults {
  let state = none
  let isSaving = false

  /** Applies a change, and takes it back when it cannot be stored. */
  const change = async (next: FaultState) => {
    const before = state
    state = next
    try {
      await store.saveFaults(() => state)
    } catch (error) {
      if (state === next) state = before
      throw error
    }
  }

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
    if (before.rules.length + drafts.length > mostFaults) throw tooManyRules()
    const added = before.added + drafts.length
    const rules = drafts.map((draft, index) => ({
      fault_id: `flt_${added - index}`,
      rule: completeFault(draft, hash),
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
      for (const stored of state.rules) {
        const { rule, fault_id } = stored
        if (!isInForce(stored, now_ms) || !matches(rule, request, hash)) continue
        const { matched } = stored.count
        const { isInjected, count } = countMatch(rule, stored.count)
        stored.count = count
        saveCounts()
        if (isInjected) return { fault_id, rule, latency_ms: latencyOf(rule, matched) }
      }
      return null
    },
    async add(draft, now_ms) {
      refuseSecret(draft)
      const next = withRules(state, [draft], null, now_ms)
      await change(next)
      // Not from `state`: another rule may have been added meanwhile.
      return toRule(next.rules[0]!)
    },
    list: () => state.rules.map(toRule),
    async remove(matching) {
      const rules = state.rules.filter((stored) => !matching(toRule(stored)))
      const removed = state.rules.length - rules.length
      if (removed > 0) await change({ ...state, rules })
      return removed
    },
    async replaceScenario(scenario, drafts, now_ms) {
      const rules = state.rules.filter((stored) => stored.scenario === null)
      await change(withRules({ ...state, scenario, rules }, drafts, scenario, now_ms))
    },
    async restore() {
      const stored = (await store.findFaults()) ?? none
      // Numbers keep growing, so that an identifier never names two rules.
      state = { ...stored, added: Math.max(stored.added, state.added) }
    },
  }
}

function tooManyRules(): ApiError {
  return new ApiError('schema_invalid', {
    message: `A sandbox has at most ${mostFaults} fault rules.`,
    hint: 'Remove some: svc sandbox faults clear.',
  })
}

function refuseSecret(draft: FaultDraft): void {
  const path = secretIn(draft)
  if (path === null) return
  throw new ApiError('secret_in_field', {
    message: 'The rule contains a key or a token, which the sandbox does not store.',
    hint: 'Name whose requests it breaks with key: of that only a hash is stored.',
    fields: [{ path, message: 'holds a key or a token', expected: 'none; in a path, * stands for it' }],
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
