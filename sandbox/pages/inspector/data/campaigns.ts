/** The campaigns of the market in force, your own first: for pickers and sheets. */
import type { SheetCampaigns } from '#contract/resources/sandbox/creative-sheet.ts'
import { readJson } from './api.ts'
import { useLoaded } from './resource.ts'

/** A longer list is not read by anyone, and slows the page down. */
const maxOffered = 500

async function readCampaigns(): Promise<SheetCampaigns['campaigns']> {
  return (await readJson<SheetCampaigns>('/_sandbox/creatives')).campaigns
}

/** The campaigns in force, your own first. */
export function useCampaignList() {
  return useLoaded('campaigns', readCampaigns)
}

/** Returns the values of a picker; `chosen` is one of them, whatever it is. */
export function useCampaigns(none: string, chosen: string): (readonly [campaign_id: string, label: string])[] {
  const { state } = useCampaignList()
  const offered = (state.data ?? []).slice(0, maxOffered)
  const isOffered = chosen === '' || offered.some(({ campaign_id }) => campaign_id === chosen)
  const values = offered.map(({ campaign_id, sponsor_name }) => [campaign_id, sponsor_name] as const)
  return [['', none], ...values, ...(isOffered ? [] : [[chosen, chosen] as const])]
}
