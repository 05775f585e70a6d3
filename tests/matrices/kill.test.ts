/** Killed at any time: every acknowledged write is stored after a restart, and the evidence verifies. */
import { join } from 'node:path'
import { Pool } from 'undici'
import { afterAll, expect, test } from 'vitest'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { type Child, startChild } from '#tests/reliability/child.ts'
import { createDice } from '#tests/reliability/dice.ts'
import { share } from '#tests/share.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const kills = share.least(20)
const connections = 16
const formats = ['banner', 'clip', 'native'] as const
const database = join(temporaryDirectory(), 'sandbox.db')
const dice = createDice(7)
let running: Child | undefined

afterAll(() => running?.kill())

/** What the sandbox has acknowledged since the last check. */
interface Acknowledged {
  placements: PlacementResponse[]
  beacons: { slot_id: string; beacon_id: string; event: string }[]
}

test(`${kills} kills under load lose nothing that was acknowledged`, async () => {
  let sessions = 0
  const total = { placements: 0, beacons: 0 }
  const first: Acknowledged = { placements: [], beacons: [] }
  running = await start()
  for (let kill = 1; kill <= kills; kill++) {
    const sandbox = running
    const acknowledged: Acknowledged = { placements: [], beacons: [] }
    const load = Array.from({ length: connections }, () =>
      useUntilKilled(sandbox, acknowledged, () => `kill-${++sessions}`),
    )
    const isBusy = () => acknowledged.placements.length > 10 && acknowledged.beacons.length > 10
    await expect.poll(isBusy, { interval: 10 }).toBe(true)
    await pause(dice.below(400))
    await sandbox.kill()
    await Promise.all(load)
    expect(sandbox.reports).toEqual([])

    running = await start()
    await isKept(running, acknowledged, acknowledged.beacons.length + connections)
    const evidence = await get<{ ok: boolean; chains: { entries: number }[] }>(running, '/_sandbox/evidence/verify')
    expect(evidence, `after kill ${kill}`).toMatchObject({ ok: true })
    total.placements += acknowledged.placements.length
    total.beacons += acknowledged.beacons.length
    expect(evidence.chains[0]!.entries).toBeGreaterThanOrEqual(total.placements + total.beacons)
    if (kill === 1) Object.assign(first, acknowledged)
  }
  await isKept(running, first, Number.POSITIVE_INFINITY)
})

function start(): Promise<Child> {
  return startChild({ database, rate_limit: 'off', journal_limit: 2_000 })
}

/** Creates placements and beacons on one connection until it breaks; records only complete responses. */
async function useUntilKilled({ url }: Child, acknowledged: Acknowledged, session: () => string): Promise<void> {
  const pool = new Pool(url, { connections: 1 })
  const post = async <T>(path: string, body: object) => {
    const reply = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) })
    const answer = await reply.body.json()
    expect(reply.statusCode, JSON.stringify(answer)).toBe(200)
    return answer as T
  }
  try {
    for (let turn = 0; ; turn++) {
      const placement = await post<PlacementResponse>('/v1/placements', {
        client_id: 'proj_demo',
        session_id: session(),
        job_type: 'chat',
        prompt: { topic: 'garden tools' },
        consent: { semantic_targeting: true },
        overrides: { allowed_formats: [formats[turn % 3]] },
      })
      acknowledged.placements.push(placement)
      const { slot_id, decision } = placement
      if (decision === null || !decision.fill) continue
      const events = decision.format === 'clip' ? ['render', 'play_started', 'play_completed'] : ['render', 'visible']
      for (const event of events) {
        const beacon_id = `${slot_id}.${event}`
        const { asset_token } = decision
        await post('/v1/beacons', { beacon_id, asset_token, event, occurred_at_ms: Date.now() })
        acknowledged.beacons.push({ slot_id, beacon_id, event })
      }
    }
  } catch (error) {
    const { code, name } = error as Error & { code?: string }
    if (code === undefined && name !== 'SocketError') throw error
  } finally {
    await pool.destroy()
  }
}

/** Looks among the `newest` beacons: requests that ran at the kill may have been stored without a response. */
async function isKept(sandbox: Child, { placements, beacons }: Acknowledged, newest: number): Promise<void> {
  const listed = await listBeacons(sandbox, newest)
  const lost = beacons.filter((beacon) => {
    const item = listed.get(beacon.beacon_id)
    return item?.slot_id !== beacon.slot_id || item.event !== beacon.event || item.verdict !== 'accepted'
  })
  expect(lost).toEqual([])
  const pool = new Pool(sandbox.url, { connections: 8 })
  await Promise.all(
    placements.map(async (placement) => {
      const reply = await pool.request({ method: 'GET', path: `/v1/decisions/${placement.slot_id}`, headers })
      const now = withoutPort(await reply.body.json())
      expect(now, placement.slot_id).toEqual(withoutPort(placement))
    }),
  )
  await pool.destroy()
}

/** At least the `newest` beacons by identifier. */
async function listBeacons(sandbox: Child, newest: number): Promise<Map<string, BeaconItem>> {
  const found = new Map<string, BeaconItem>()
  let cursor = ''
  while (found.size < newest) {
    const page = await get<{ items: BeaconItem[]; next_cursor: string | null }>(
      sandbox,
      `/_sandbox/beacons?limit=1000&verdict=accepted${cursor}`,
    )
    for (const item of page.items) found.set(item.beacon_id ?? '', item)
    if (page.next_cursor === null) break
    cursor = `&cursor=${page.next_cursor}`
  }
  return found
}

async function get<T>({ url }: Child, path: string): Promise<T> {
  const reply = await fetch(`${url}${path}`)
  expect(reply.status, path).toBe(200)
  return (await reply.json()) as T
}

/** Every start uses another port, which addresses contain. */
function withoutPort(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://sandbox'))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
