/**
 * The fault rules of a sandbox, newest first, each with what it has counted, and the scenario that some belong to. They
 * are part of its state: kept in the database with every change and every request that a rule counts, so that snapshots,
 * exports and restarts have them, and the same seed goes on breaking the same requests.
 */

import type { FaultDraft, FaultRule } from '../../src/contract/control/faults.ts'
import { mostFaults } from '../../src/contract/control/faults.ts'
import { ApiError } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import {
  type Fault,
  type FaultRequest,
  type Hash,
  latencyOf,
  matches,
  meet,
  needsDetails,
  secretIn,
  settle,
} from '../domain/faults.ts'
import type { FaultState, StandingFault, Store } from '../store/store.ts'
import type { Operation } from './context.ts'

/** What becomes of one request. */
export interface Injection {
  fault_id: string
  rule: Fault
  latency_ms: number
}

export interface Faults {
  /** Whether there is nothing to look at. */
  readonly isEmpty: boolean
  /** Whether some rule asks for the session or the formats of a request. */
  readonly needsDetails: boolean
  /** Name of the scenario in use. */
  readonly scenario: string | null
  /** The first rule that meets the request; counts it. What is counted is kept with the next commit. */
  inject(request: FaultRequest, now_ms: number): Injection | null
  /** Tried before those that are there. @throws ApiError 400 when there are too many, or it names a secret */
  add(draft: FaultDraft, now_ms: number): Promise<FaultRule>
  list(): FaultRule[]
  /** Removes those that hold; answers how many. */
  remove(holds: (rule: FaultRule) => boolean): Promise<number>
  /** Puts a scenario with its rules, the first to be tried first, in the place of the one before; null ends that one. */
  begin(scenario: string | null, drafts: readonly FaultDraft[], now_ms: number): Promise<void>
  /** Takes up what the database keeps. */
  restore(): Promise<void>
}

export interface FaultParts {
  store: Pick<Store, 'findFaults' | 'saveFaults'>
  hash: Hash
  /** Told when counts cannot be kept. */
  report(error: unknown): void
}

const none: FaultState = { scenario: null, added: 0, rules: [] }

export function createFaults({ store, hash, report }: FaultParts): Faults {
  let state = none
  let isCounting = false

  /** In force once it is kept, else not at all. */
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

  /** One write for all requests of a turn. */
  const keepCounts = () => {
    if (isCounting) return
    isCounting = true
    const now = () => {
      isCounting = false
      return state
    }
    store.saveFaults(now).catch((error: unknown) => {
      isCounting = false
      report(error)
    })
  }

  /** The state with these rules before the others, the first of them first. */
  const grown = (before: FaultState, drafts: readonly FaultDraft[], scenario: string | null, now_ms: number) => {
    if (before.rules.length + drafts.length > mostFaults) throw tooMany()
    const added = before.added + drafts.length
    const rules = drafts.map((draft, index) => ({
      fault_id: `flt_${added - index}`,
      rule: settle(draft, hash),
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
      for (const each of state.rules) {
        const { rule, fault_id } = each
        if (!isInForce(each, now_ms) || !matches(rule, request, hash)) continue
        const { matched } = each.count
        const { isMet, count } = meet(rule, each.count)
        each.count = count
        keepCounts()
        if (isMet) return { fault_id, rule, latency_ms: latencyOf(rule, matched) }
      }
      return null
    },
    async add(draft, now_ms) {
      refuseSecret(draft)
      const next = grown(state, [draft], null, now_ms)
      await change(next)
      // Not of the state: another may have been added meanwhile.
      return shown(next.rules[0]!)
    },
    list: () => state.rules.map(shown),
    async remove(holds) {
      const rules = state.rules.filter((each) => !holds(shown(each)))
      const removed = state.rules.length - rules.length
      if (removed > 0) await change({ ...state, rules })
      return removed
    },
    async begin(scenario, drafts, now_ms) {
      const rules = state.rules.filter((each) => each.scenario === null)
      await change(grown({ ...state, scenario, rules }, drafts, scenario, now_ms))
    },
    async restore() {
      const kept = (await store.findFaults()) ?? none
      // Numbers go on growing: a fault that a request was met by is told apart from every later one.
      state = { ...kept, added: Math.max(kept.added, state.added) }
    },
  }
}

function tooMany(): ApiError {
  return new ApiError('schema_invalid', {
    message: `There may be ${mostFaults} fault rules, and no more than that.`,
    hint: 'Remove some: DELETE /_sandbox/faults, or svc sandbox faults clear.',
  })
}

function refuseSecret(draft: FaultDraft): void {
  const name = secretIn(draft)
  if (name === null) return
  throw new ApiError('schema_invalid', {
    message: 'The rule names a key or a token, which the sandbox does not store.',
    fields: [{ path: name, message: 'holds a key or a token', expected: 'none; in a path, * stands for it' }],
  })
}

export const listFaults: Operation<Contract['faults.list']> = async ({ faults }) => ({
  items: faults.list(),
  next_cursor: null,
})

export const addFault: Operation<Contract['faults.add']> = async ({ faults }, { now_ms }, { body }) =>
  faults.add(body, now_ms)

export const clearFaults: Operation<Contract['faults.clear']> = async ({ faults }) => ({
  cleared: await faults.remove(() => true),
})

export const removeFault: Operation<Contract['faults.remove']> = async ({ faults }, _context, { params }) => {
  const cleared = await faults.remove(({ fault_id }) => fault_id === params.fault_id)
  if (cleared === 0) {
    throw new ApiError('not_found', {
      message: 'There is no such fault rule.',
      hint: 'See GET /_sandbox/faults, or svc sandbox faults list, for those there are.',
    })
  }
  return { cleared }
}

/** An end that lies behind a clock that was moved back is ahead again. */
function isInForce({ rule, created_at_ms }: StandingFault, now_ms: number): boolean {
  return rule.ttl_ms === undefined || now_ms < created_at_ms + rule.ttl_ms
}

function shown({ fault_id, rule: { key, ...rule }, scenario, created_at_ms, count }: StandingFault): FaultRule {
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
