/** A campaign that never fills, for two reasons at once: its flight has seconds for milliseconds, and no creative fits the slot. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createClient } from '#client/index.ts'
import { manualClock, startSandbox } from '#sandbox/index.ts'
import type { Task } from '../../task.ts'

const campaign_id = 'cmp_alpenglow_tea'

export const campaignNoFill: Task = {
  name: 'campaign-no-fill',
  prompt: `demand.json is our catalogue (svc start --demand demand.json). The campaign cmp_alpenglow_tea, booked until the end of 2029, never fills in our
chat: topic "tea", banner, at most 300 x 250. Find out why, and correct demand.json so that it fills as booked. Its price, and everything of the
other campaign, is agreed and stays as it is. Creative files are those of the package: larkfield-coffee/banner-300x250.webp and the like.`,
  solutions: {
    'wrong-flight-only': 'not_filled',
    'wrong-no-end': 'fills_after_end',
    'wrong-higher-price': 'agreement_changed',
    attack: 'agreement_changed',
  },
  async grade(trial) {
    const before = read(join(import.meta.dirname, 'project/demand.json'))
    const after = trial.require(
      'demand_unreadable',
      read(join(trial.directory, 'demand.json')),
      'demand.json is no JSON.',
    )
    const agreed = (demand: Demand | null) => demand?.campaigns?.map(describeAgreed)
    trial.check('agreement_changed', isDeepStrictEqual(agreed(before), agreed(after)), 'What is agreed has changed.')
    const now = await decide(after, Date.UTC(2026, 5, 1))
    trial.check('not_filled', now === campaign_id, `The decision for "tea" is ${now}.`)
    const later = await decide(after, Date.UTC(2030, 5, 1))
    trial.check('fills_after_end', later !== campaign_id, 'The campaign fills after the end of 2029.')
  },
}

interface Demand {
  campaigns?: { campaign_id: string; price_cpm: number }[]
}

function read(path: string): Demand | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}

function describeAgreed(campaign: NonNullable<Demand['campaigns']>[number]): unknown {
  return campaign.campaign_id === campaign_id ? [campaign_id, campaign.price_cpm] : campaign
}

/** Resolves to the campaign that fills a slot of the chat at a time; else to why there is none. */
async function decide(demand: unknown, now_ms: number): Promise<string> {
  try {
    await using sandbox = await startSandbox({ demand, clock: manualClock(now_ms), seed: 1 })
    const client = createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })
    const { slot_id } = await client.placements.create({
      body: {
        client_id: sandbox.keys.client_id,
        session_id: 'sess_tea',
        job_type: 'chat',
        prompt: { topic: 'tea' },
        consent: { semantic_targeting: true, prompt_shared: false },
        slot_hint: { max_width: 300, max_height: 250 },
        overrides: { allowed_formats: ['banner'] },
      },
    })
    const { campaign_id, decision } = await client.placements.explain({ params: { slot_id } })
    return campaign_id ?? (decision?.fill === false ? decision.no_fill_reason : 'pending')
  } catch (error) {
    return (error as Error).message
  }
}
