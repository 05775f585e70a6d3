/** The scenario in use: at most one, kept with its fault rules. */

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
  use(name: string, now_ms: number): Promise<ScenarioItem | null>
  /** Ends the scenario in use; answers its name. */
  clear(now_ms: number): Promise<string | null>
}

const unchanged: ScenarioChanges = {}

export function createScenarios(catalogue: readonly Scenario[], faults: Faults): Scenarios {
  const byName = new Map(catalogue.map((scenario) => [scenario.name, scenario]))
  return {
    list: () => catalogue.map((scenario) => ({ ...scenario, active: scenario.name === faults.scenario })),
    changesFor: (mode) =>
      (mode === 'test' && faults.scenario !== null && byName.get(faults.scenario)?.changes) || unchanged,
    async use(name, now_ms) {
      const scenario = byName.get(name)
      if (scenario === undefined) return null
      await faults.begin(name, scenario.changes.faults ?? [], now_ms)
      return { ...scenario, active: true }
    },
    async clear(now_ms) {
      const name = faults.scenario
      await faults.begin(null, [], now_ms)
      return name
    },
  }
}

export const listScenarios: Operation<Contract['scenario.list']> = async ({ scenarios }) => ({
  items: scenarios.list(),
  next_cursor: null,
})

export const useScenario: Operation<Contract['scenario.use']> = async ({ scenarios }, { now_ms }, { params }) => {
  const scenario = await scenarios.use(params.name, now_ms)
  if (scenario !== null) return scenario
  throw new ApiError('not_found', {
    message: 'There is no such scenario.',
    hint: 'See GET /_sandbox/scenarios, or svc sandbox scenario list, for those there are.',
  })
}

export const clearScenario: Operation<Contract['scenario.clear']> = async ({ scenarios }, { now_ms }) => ({
  cleared: await scenarios.clear(now_ms),
})
