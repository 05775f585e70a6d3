/** The scenario in use: at most one, stored with its fault rules. */
import type { Scenario, ScenarioChanges, ScenarioItem } from '../../src/contract/control/scenarios.ts'
import type { Mode } from '../../src/contract/fields.ts'
import type { Faults } from './faults.ts'

export interface Scenarios {
  list(): ScenarioItem[]
  /** Returns how the scenario in use changes decisions. Live traffic is never changed. */
  changesFor(mode: Mode): ScenarioChanges
  /** Replaces the scenario in use. Resolves to null when there is no scenario of this name. */
  use(name: string, now_ms: number): Promise<ScenarioItem | null>
  /** Ends the scenario in use and resolves to its name. */
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
      await faults.replaceScenario(name, scenario.changes.faults ?? [], now_ms)
      return { ...scenario, active: true }
    },
    async clear(now_ms) {
      const name = faults.scenario
      await faults.replaceScenario(null, [], now_ms)
      return name
    },
  }
}
