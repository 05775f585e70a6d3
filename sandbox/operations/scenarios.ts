/** The scenario in use: at most one, in memory. */

import type { Scenario, ScenarioChanges, ScenarioItem } from '../../src/contract/control/scenarios.ts'
import { ApiError } from '../../src/contract/errors.ts'
import type { Mode } from '../../src/contract/fields.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Operation } from './context.ts'
import type { Faults } from './faults.ts'

export interface Scenarios {
  list(): ScenarioItem[]
  /** What the scenario in use changes of decisions; nothing for live traffic. */
  changesFor(mode: Mode): ScenarioChanges
  /** Takes the place of the one before; null when there is none of this name. */
  use(name: string, now_ms: number): ScenarioItem | null
  /** Ends the scenario in use; answers its name. */
  clear(): string | null
}

const unchanged: ScenarioChanges = {}

export function createScenarios(catalogue: readonly Scenario[], faults: Faults): Scenarios {
  let active: Scenario | null = null
  const clear = () => {
    const name = active?.name ?? null
    active = null
    faults.remove(({ scenario }) => scenario !== null)
    return name
  }
  return {
    list: () => catalogue.map((scenario) => ({ ...scenario, active: scenario === active })),
    changesFor: (mode) => (mode === 'test' && active !== null ? active.changes : unchanged),
    use(name, now_ms) {
      const scenario = catalogue.find((each) => each.name === name)
      if (scenario === undefined) return null
      clear()
      active = scenario
      // The newest rule is tried first.
      for (const rule of scenario.changes.faults?.toReversed() ?? []) faults.add(rule, name, now_ms)
      return { ...scenario, active: true }
    },
    clear,
  }
}

export const listScenarios: Operation<Contract['scenario.list']> = async ({ scenarios }) => ({
  items: scenarios.list(),
  next_cursor: null,
})

export const useScenario: Operation<Contract['scenario.use']> = async ({ scenarios }, { now_ms }, { params }) => {
  const scenario = scenarios.use(params.name, now_ms)
  if (scenario !== null) return scenario
  throw new ApiError('not_found', {
    message: 'There is no such scenario.',
    hint: 'See GET /_sandbox/scenarios, or svc sandbox scenario list, for those there are.',
  })
}

export const clearScenario: Operation<Contract['scenario.clear']> = async ({ scenarios }) => ({
  cleared: scenarios.clear(),
})
