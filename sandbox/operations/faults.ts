/** The fault rules of a sandbox: kept in memory, newest first, each with what it has counted. */

import type { FaultDraft, FaultRule } from '../../src/contract/control/faults.ts'
import { mostFaults } from '../../src/contract/control/faults.ts'
import { ApiError } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import {
  type Fault,
  type FaultCount,
  type FaultRequest,
  latencyOf,
  matches,
  meet,
  needsDetails,
  settle,
} from '../domain/faults.ts'
import { redactSecrets } from '../domain/tokens.ts'
import type { Operation } from './context.ts'

/** What becomes of one request. */
export interface Injection {
  fault_id: string
  rule: Fault
  latency_ms: number
}

interface Standing {
  fault_id: string
  rule: Fault
  scenario: string | null
  created_at_ms: number
  count: FaultCount
}

export interface Faults {
  /** Whether there is nothing to look at. */
  readonly isEmpty: boolean
  /** Whether some rule asks for the session or the formats of a request. */
  readonly needsDetails: boolean
  /** The first rule that meets the request; counts it. */
  inject(request: FaultRequest, now_ms: number): Injection | null
  /** Tried before those that are there. @throws ApiError 400 when there are too many */
  add(draft: FaultDraft, scenario: string | null, now_ms: number): FaultRule
  list(): FaultRule[]
  /** Removes those that hold; answers how many. */
  remove(holds: (rule: FaultRule) => boolean): number
}

export function createFaults(): Faults {
  let standing: Standing[] = []
  let added = 0
  return {
    get isEmpty() {
      return standing.length === 0
    },
    get needsDetails() {
      return standing.some(({ rule }) => needsDetails(rule))
    },
    inject(request, now_ms) {
      for (const each of standing) {
        const { rule, fault_id } = each
        if (!isInForce(each, now_ms) || !matches(rule, request)) continue
        const { matched } = each.count
        const { isMet, count } = meet(rule, each.count)
        each.count = count
        if (isMet) return { fault_id, rule, latency_ms: latencyOf(rule, matched) }
      }
      return null
    },
    add(draft, scenario, now_ms) {
      if (standing.length >= mostFaults) {
        throw new ApiError('schema_invalid', {
          message: `There are ${mostFaults} fault rules, and no more than that may be.`,
          hint: 'Remove some: DELETE /_sandbox/faults, or svc sandbox faults clear.',
        })
      }
      const fault = {
        fault_id: `flt_${++added}`,
        rule: settle(draft),
        scenario,
        created_at_ms: now_ms,
        count: { matched: 0, injected: 0 },
      }
      standing = [fault, ...standing]
      return shown(fault)
    },
    list: () => standing.map(shown),
    remove(holds) {
      const before = standing.length
      standing = standing.filter((each) => !holds(shown(each)))
      return before - standing.length
    },
  }
}

export const listFaults: Operation<Contract['faults.list']> = async ({ faults }) => ({
  items: faults.list(),
  next_cursor: null,
})

export const addFault: Operation<Contract['faults.add']> = async ({ faults }, { now_ms }, { body }) =>
  faults.add(body, null, now_ms)

export const clearFaults: Operation<Contract['faults.clear']> = async ({ faults }) => ({
  cleared: faults.remove(() => true),
})

export const removeFault: Operation<Contract['faults.remove']> = async ({ faults }, _context, { params }) => {
  const cleared = faults.remove(({ fault_id }) => fault_id === params.fault_id)
  if (cleared === 0) {
    throw new ApiError('not_found', {
      message: 'There is no such fault rule.',
      hint: 'See GET /_sandbox/faults, or svc sandbox faults list, for those there are.',
    })
  }
  return { cleared }
}

/** An end that lies behind a clock that was moved back is ahead again. */
function isInForce({ rule, created_at_ms }: Standing, now_ms: number): boolean {
  return rule.ttl_ms === undefined || now_ms < created_at_ms + rule.ttl_ms
}

function shown({ fault_id, rule, scenario, created_at_ms, count }: Standing): FaultRule {
  return {
    fault_id,
    ...rule,
    ...(rule.key === undefined ? {} : { key: redactSecrets(rule.key) }),
    scenario,
    created_at_ms,
    expires_at_ms: rule.ttl_ms === undefined ? null : created_at_ms + rule.ttl_ms,
    ...count,
  }
}
