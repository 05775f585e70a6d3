/** Fault rules, and the scenarios that come with their own. */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import type { Operation } from './context.ts'

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
  if (cleared > 0) return { cleared }
  throw new ApiError('not_found', {
    message: 'No such fault rule.',
    hint: 'List them: svc sandbox faults list.',
  })
}

export const listScenarios: Operation<Contract['scenario.list']> = async ({ scenarios }) => ({
  items: scenarios.list(),
  next_cursor: null,
})

export const useScenario: Operation<Contract['scenario.use']> = async ({ scenarios }, { now_ms }, { params }) => {
  const scenario = await scenarios.use(params.name, now_ms)
  if (scenario !== null) return scenario
  const names = scenarios.list().map(({ name }) => name)
  const near = nearestName(params.name, names)
  throw new ApiError('not_found', {
    message: 'No such scenario.',
    hint: near === null ? 'List them: svc sandbox scenario list.' : `Did you mean ${near}?`,
  })
}

export const clearScenario: Operation<Contract['scenario.clear']> = async ({ scenarios }, { now_ms }) => ({
  cleared: await scenarios.clear(now_ms),
})
