/** Takes your own campaigns over that were sent to a running sandbox, once nothing in them is wrong. */
import type { Output } from '#contract/endpoint.ts'
import type { Contract } from '#contract/index.ts'
import { SuiteError } from '#yaml/problems.ts'
import { describeCampaigns } from './rules/demand/check.ts'
import { type OwnDemand, readSentDemand } from './rules/demand/read-demand.ts'

interface Taking {
  /** By their names. */
  files: ReadonlyMap<string, Buffer>
  now_ms: number
  isOnlyChecked: boolean
  replace(own: OwnDemand['market']): Promise<void>
}

export async function takeSentDemand(taking: Taking): Promise<Output<Contract['demand.replace']>> {
  const { files, now_ms, isOnlyChecked, replace } = taking
  try {
    const { market } = await readSentDemand(files)
    const campaigns = describeCampaigns(market, now_ms)
    const is_in_force = !isOnlyChecked && campaigns.length > 0
    if (is_in_force) await replace(market)
    return { is_in_force, campaigns, problems: [] }
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    const problems = error.problems.map(({ place, message, hint }) => ({ ...place, message, hint }))
    return { is_in_force: false, campaigns: [], problems }
  }
}
