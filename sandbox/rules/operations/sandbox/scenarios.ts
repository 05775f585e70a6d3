/** Scenarios of the catalogue. */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import type { Operation } from '../context.ts'

export const listScenarios: Operation<Contract['scenario.list']> = async ({ scenarios }) => ({
  items: scenarios.list(),
  next_cursor: null,
})

export const useScenario: Operation<Contract['scenario.use']> = async (
  { scenarios, markets },
  { now_ms },
  { params },
) => {
  const scenario = await scenarios.use(params.name, now_ms)
  if (scenario !== null) return scenario
  const names = params.name.startsWith('cmp_')
    ? [...markets.current.positions.keys()]
    : scenarios.list().map(({ name }) => name)
  const near = nearestName(params.name, names)
  throw new ApiError('not_found', {
    message: 'No such scenario.',
    hint: near === null ? 'List them: svc sandbox scenario list.' : `Did you mean ${near}?`,
  })
}

export const clearScenario: Operation<Contract['scenario.clear']> = async ({ scenarios }, { now_ms }) => ({
  cleared: await scenarios.clear(now_ms),
})
