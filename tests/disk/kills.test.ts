/**
 * Killed after any write: what a recorded sandbox has written up to then is opened again, and has exactly what was committed
 * and everything that was acknowledged. `DISK_SECONDS` opens it after every write, not after some of them.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startChild } from '#tests/reliability/child.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { seed, wholeSeconds } from './budget.ts'
import { openEvery, openSome } from './images.ts'
import { describeFindings } from './kept-recording.ts'
import type { Known } from './known.ts'
import type { Replayer } from './replay.ts'
import { checkRecordings, someMs } from './rounds.ts'

const starts = wholeSeconds === null ? 3 : 20

test('a kill after any write loses nothing that was acknowledged', () =>
  checkRecordings(async ({ recording, replayer, dice }) => {
    const { opened, findings } =
      wholeSeconds === null ? openSome(recording, replayer, dice, someMs, false) : openEvery(recording, replayer)
    const { records, acknowledged } = recording
    console.log(
      `seed ${seed}: ${opened + replayer.states} of ${records.length} prefixes opened; ${replayer.states} commits, ${acknowledged.size} acknowledgements`,
    )
    expect(describeFindings(recording, findings)).toEqual([])
    expect(Math.min(opened, replayer.states, acknowledged.size)).toBeGreaterThanOrEqual(40)
    for (let start = 0; start < starts; start++) await startOn(replayer, dice.below(records.length + 1))
  }))

/** Starts the whole sandbox on what a kill left, and compares its responses. */
async function startOn(replayer: Replayer, place: number): Promise<void> {
  const folder = join(temporaryDirectory(), 'files')
  const known = replayer.write(place, folder)
  const sandbox = await startChild({ database: join(folder, 'sandbox.db') })
  try {
    const read = async <Body>(path: string) => (await (await fetch(`${sandbox.url}/_sandbox/${path}`)).json()) as Body
    expect([sandbox.warnings, sandbox.reports], `place ${place}`).toEqual([[], []])
    expect(await read('integrity'), `place ${place}`).toMatchObject({ ok: true })
    const facts = await readFacts(read)
    const missing = known.states.map((state) => [...state.facts].filter((fact) => !facts.has(fact)))
    expect(missing, `place ${place}`).toContainEqual([])
    await expectTokens(known, read)
  } finally {
    await sandbox.kill()
  }
}

type Read = <Body>(path: string) => Promise<Body>

interface Page<Item> {
  items: Item[]
  next_cursor: string | null
}

async function readAll<Item>(read: Read, path: string): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<Item> = await read(`${path}limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`)
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items
}

async function readFacts(read: Read): Promise<Set<string>> {
  const placements = await readAll<{ slot_id: string; fill: boolean | null }>(read, 'placements?')
  const beacons = await readAll<{ slot_id: string; beacon_id: string }>(read, 'beacons?verdict=accepted&')
  const consents = await readAll<{ session_id: string; revision: number }>(read, 'consent?')
  return new Set([
    ...placements.map(({ slot_id, fill }) => `placement ${slot_id} ${fill}`),
    ...beacons.map(({ slot_id, beacon_id }) => `beacon ${slot_id} ${beacon_id}`),
    ...consents.map(({ session_id, revision }) => `consent ${session_id} ${revision}`),
  ])
}

async function expectTokens({ tokens, snapshots }: Known, read: Read): Promise<void> {
  const listed = await read<{ items: { name: string; revoked_at_ms: number | null }[] }>('tokens')
  const found = new Map(listed.items.map(({ name, revoked_at_ms }) => [name, revoked_at_ms !== null]))
  for (const [name, isRevoked] of tokens) expect(found.get(name) ?? null, name).toBe(isRevoked || found.get(name))
  const saved = await read<{ items: { name: string }[] }>('snapshots')
  expect(saved.items.map(({ name }) => name)).toEqual(expect.arrayContaining([...snapshots.keys()]))
}
