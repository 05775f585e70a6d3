/** Own counts beside those of the service: which causes explain the difference, and how many turns each. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Client } from '#client/index.ts'
import type { Task } from '../../task.ts'

/** By the words of svc, as the turns below make them. */
const expected = { doubled: 2, no_fill_counted: 2, frame_not_loaded: 1, beacon_never_sent: 3 }

export const discrepancy: Task = {
  name: 'discrepancy',
  prompt: `counts.csv has what our app counted for each slot today; the sandbox at SVC_BASE_URL has what was accepted. Why do they differ? Write
explanation.json: an object whose keys are the causes of the differences in rendered impressions, in the words of svc (svc beacons reconcile), and
whose values are how many turns each explains. Change nothing else. Documentation: $SVC_BASE_URL/_sandbox/docs/billing-differences.md`,
  // The turns are those of its preparation.
  ignored: ['fill-unused', 'beacon-missing', 'beacon-before-render', 'ads-never-seen'],
  sends_beacons: true,
  prepare: async ({ client, directory }) => {
    const rows = await Promise.all([
      ...repeat(4, () => play(client, { beacons: ['render'], own: 1 })),
      ...repeat(2, () => play(client, { beacons: ['render'], own: 2 })),
      ...repeat(2, () => play(client, { fields: { test_outcome: 'no_fill' }, own: 1 })),
      play(client, { own: 1, isUnloaded: true }),
      ...repeat(3, () => play(client, { own: 1 })),
    ])
    writeFileSync(join(directory, 'counts.csv'), ['slot_id,impressions', ...rows, ''].join('\n'))
  },
  solutions: {
    'wrong-by-count': 'explanation_wrong',
    'wrong-one-cause': 'explanation_wrong',
    'wrong-own-words': 'explanation_wrong',
    attack: 'explanation_missing',
  },
  async grade(trial) {
    const given = trial.require(
      'explanation_missing',
      read(join(trial.directory, 'explanation.json')),
      'There is none.',
    )
    const message = `explanation.json is ${JSON.stringify(given)}.`
    trial.check('explanation_wrong', isDeepStrictEqual({ ...given }, expected), message)
  },
}

interface Turn {
  fields?: { test_outcome?: 'no_fill' }
  beacons?: readonly 'render'[]
  /** What the app has counted. */
  own: number
  isUnloaded?: boolean
}

let turns = 0

/** Makes a turn. Resolves to its row in the file of the app. */
async function play(client: Client, { fields = {}, beacons = [], own, isUnloaded = false }: Turn): Promise<string> {
  turns += 1
  const consent = { semantic_targeting: false, prompt_shared: false }
  const body = { client_id: 'proj_demo', session_id: `sess_${turns}`, job_type: 'chat' as const, consent, ...fields }
  const { slot_id, decision, placement } = await client.placements.create({ body })
  if (decision?.fill === true && placement && !isUnloaded) await fetch(placement.render.frame_url)
  for (const event of decision?.fill === true ? beacons : []) {
    const { asset_token } = decision as { asset_token: string }
    const beacon_id = `${slot_id}:${event}`
    await client.beacons.send({ body: { beacon_id, slot_id, asset_token, event, occurred_at_ms: Date.now() } })
  }
  return `${slot_id},${own}`
}

const repeat = <Value>(count: number, make: () => Value): Value[] => Array.from({ length: count }, make)

function read(path: string): object | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}
