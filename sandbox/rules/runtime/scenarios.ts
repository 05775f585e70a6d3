import type { Scenario, ScenarioChanges, ScenarioItem } from '#contract/exports.ts'
import type { Mode } from '#contract/fields.ts'
import type { Faults } from './faults.ts'

export interface Scenarios {
  list(): ScenarioItem[]
  /** Returns how the scenario in use changes decisions. Live traffic is never changed. */
  changesFor(mode: Mode): ScenarioChanges
  /** Replaces the scenario in use. Resolves to null when there is no scenario with this name. */
  use(name: string, now_ms: number): Promise<ScenarioItem | null>
  /** Ends the scenario in use and resolves to its name. */
  clear(now_ms: number): Promise<string | null>
}

const unchanged: ScenarioChanges = {}

/** Reads the catalogue when it is first needed: a start without a scenario never reads its files. */
export function createScenarios(read: () => readonly Scenario[], faults: Faults): Scenarios {
  let byName: Map<string, Scenario> | undefined
  const catalogue = () => {
    byName ??= new Map(read().map((scenario) => [scenario.name, scenario]))
    return byName
  }
  return {
    list: () =>
      Array.from(catalogue().values(), (scenario) => ({ ...scenario, active: scenario.name === faults.scenario })),
    changesFor: (mode) =>
      (mode === 'test' && faults.scenario !== null && catalogue().get(faults.scenario)?.changes) || unchanged,
    async use(name, now_ms) {
      const scenario = catalogue().get(name)
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
