import type { Scenario, ScenarioChanges, ScenarioItem } from '#contract/exports.ts'
import type { Mode } from '#contract/fields.ts'
import type { Faults } from './faults.ts'

export interface Scenarios {
  /** Returns the catalogue, and the scenario of a forced campaign while it is in use. */
  list(): ScenarioItem[]
  /** Returns how the scenario in use changes decisions. Live traffic is never changed. */
  changesFor(mode: Mode): ScenarioChanges
  /** Replaces the scenario in use. Resolves to null when there is no scenario with this name. */
  use(name: string, now_ms: number): Promise<ScenarioItem | null>
  /** Ends the scenario in use and resolves to its name. */
  clear(now_ms: number): Promise<string | null>
}

const unchanged: ScenarioChanges = {}

/** Returns the scenario that has the name of a campaign. */
function forceCampaign(campaign_id: string): Scenario {
  return {
    name: campaign_id,
    title: `Test traffic gets ${campaign_id}, or the rule that forbids it`,
    purpose: 'Your own ad in your own product, whatever others offer. It is marked, and never billed.',
    changes: { force_campaign_id: campaign_id },
    steps: ['Request a placement with a test key: svc placements create.'],
    expect: ['The ad, marked FORCED, or a no-fill; svc explain names the rule that forbids it.'],
  }
}

/**
 * Reads the catalogue when it is first needed: a start without a scenario never reads its files.
 * @param hasCampaign whether the market in force has a campaign: the scenario of one that is gone changes nothing
 */
export function createScenarios(
  read: () => readonly Scenario[],
  faults: Faults,
  hasCampaign: (campaign_id: string) => boolean,
): Scenarios {
  let byName: Map<string, Scenario> | undefined
  const catalogue = () => {
    byName ??= new Map(read().map((scenario) => [scenario.name, scenario]))
    return byName
  }
  const find = (name: string) => catalogue().get(name) ?? (hasCampaign(name) ? forceCampaign(name) : undefined)
  return {
    list: () => {
      const active = faults.scenario === null ? undefined : find(faults.scenario)
      const all = new Map(catalogue())
      if (active !== undefined) all.set(active.name, active)
      return Array.from(all.values(), (scenario) => ({ ...scenario, active: scenario === active }))
    },
    changesFor: (mode) => (mode === 'test' && faults.scenario !== null && find(faults.scenario)?.changes) || unchanged,
    async use(name, now_ms) {
      const scenario = find(name)
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
