/** Two hundred turns as an app records them, thirty of them wrong in six ways: each is found, with its cause, and no other. */
import { expect, test } from 'vitest'
import type { Metric } from '#contract/resources/beacons.ts'
import { parseOwnFile } from '#reconciliation/own-file.ts'
import { readOwnReport } from '#reconciliation/own-report.ts'
import { type Reconciliation, reconcile } from '#reconciliation/reconciliation.ts'
import { readTurns } from '#reconciliation/turns.ts'
import { createDice } from '#tests/reliability/dice.ts'
import { asked, beacon, key, type Stage, stage } from './stage.ts'

const turns = 200
const alteredEach = 5
const seen = { measurements: { visible_ratio: 1, visible_ms: 5_000, page_visible: true } }

/** What happens to a turn, and what its app rightly records of it. */
interface Played {
  slot_id: string
  outcome: 'no_fill' | 'not_shown' | 'rendered' | 'viewed' | 'late'
  /** Sends the view of a late one. */
  view: () => Promise<void>
  impressions: number
  views: number
}

type Outcome = Played['outcome']

/** The share of each outcome, out of ten. */
const outcomes: readonly Outcome[] = [
  'no_fill',
  'not_shown',
  'rendered',
  'rendered',
  'late',
  ...Array.from({ length: 5 }, (): Outcome => 'viewed'),
]

async function play({ api, clock }: Stage, session_id: string, outcome: Outcome): Promise<Played> {
  const forced = outcome === 'no_fill' ? { test_outcome: 'no_fill' } : {}
  const { body } = await api.accept('placements.create', { as: key, body: asked({ session_id, ...forced }) })
  const { slot_id, placement } = body
  const played = { slot_id, outcome, impressions: 0, views: 0, view: async () => {} }
  if (placement === null || outcome === 'no_fill' || outcome === 'not_shown') return played
  const started_at_ms = clock.now()
  const send = async (event: string, after_ms: number, more: object = {}) => {
    const body = beacon(clock, placement, event, { occurred_at_ms: started_at_ms + after_ms, ...more })
    return (await api.send('POST', '/v1/beacons', { as: key, body })).status
  }
  expect(await send('render', 0)).toBe(200)
  if (outcome === 'viewed') expect(await send('visible', 5_000, seen)).toBe(200)
  const view = async () => expect(await send('visible', 5_000, seen)).toBe(400)
  return { ...played, impressions: 1, views: outcome === 'viewed' ? 1 : 0, view }
}

/** The six ways: the turns that can be wrong in this way, the record of one that is, and the differences that follow. */
interface Alteration {
  of: Outcome
  /** The record in place of the right one; null: the app lost it. */
  alter(right: Played): Partial<Played> | null
  cause: string
  differences: Readonly<Partial<Record<Metric, number>>>
}

const alterations: readonly Alteration[] = [
  {
    of: 'no_fill',
    alter: () => ({ impressions: 1 }),
    cause: 'no_fill_counted test_forced',
    differences: { rendered_impression: 1 },
  },
  {
    of: 'not_shown',
    alter: () => ({ impressions: 1, views: 1 }),
    cause: 'frame_not_loaded',
    differences: { rendered_impression: 1, viewable_impression: 1 },
  },
  {
    of: 'rendered',
    alter: () => ({ views: 1 }),
    cause: 'not_viewed',
    differences: { viewable_impression: 1 },
  },
  {
    of: 'late',
    alter: () => ({ views: 1 }),
    cause: 'late beacon_stale',
    differences: { viewable_impression: 1 },
  },
  {
    of: 'viewed',
    alter: () => ({ impressions: 2, views: 3 }),
    cause: 'doubled',
    differences: { rendered_impression: 1, viewable_impression: 2 },
  },
  {
    of: 'viewed',
    alter: () => null,
    cause: 'not_recorded',
    differences: { rendered_impression: -1, viewable_impression: -1 },
  },
]

function compare(records: readonly Played[], known: Awaited<ReturnType<typeof readTurns>>): Reconciliation {
  const lines = records.map(({ slot_id, impressions, views }) => `${slot_id},${impressions},${views}`)
  const text = ['slot_id,impressions,views', ...lines, ''].join('\r\n')
  const { counts } = readOwnReport(parseOwnFile(text))!
  return reconcile(counts, known.turns, { mode: 'test', since_ms: null, until_ms: null }, 0)
}

test('names all thirty, no other, and their sums are the difference', async () => {
  await using on = await stage({ rate_limit: 'off' })
  const dice = createDice(34)
  const records: Played[] = []
  for (let start = 0; start < turns; start += 50) {
    const batch = Array.from({ length: 50 }, (_, index) => play(on, `s${start + index}`, dice.pick(outcomes)))
    records.push(...(await Promise.all(batch)))
  }
  on.clock.advance(400_000)
  for (const { outcome, view } of records) if (outcome === 'late') await view()
  const known = await readTurns({
    placements: async (query) => (await on.api.accept('placements.list', { query: { ...query } })).body,
    beacons: async (query) => (await on.api.accept('beacons.list', { query: { ...query } })).body,
  })
  expect(known.turns).toHaveLength(turns)
  expect(compare(records, known)).toMatchObject({ ok: true, differences: [], causes: [] })

  const altered = new Map<string, { alteration: Alteration; record: Played | null }>()
  for (const alteration of alterations) {
    for (let count = 0; count < alteredEach; ) {
      const right = dice.pick(records)
      if (right.outcome !== alteration.of || altered.has(right.slot_id)) continue
      const change = alteration.alter(right)
      altered.set(right.slot_id, { alteration, record: change === null ? null : { ...right, ...change } })
      count++
    }
  }
  const file = records.flatMap((right) => {
    const change = altered.get(right.slot_id)
    return change === undefined ? right : (change.record ?? [])
  })
  const { differences, causes, totals } = compare(file, known)

  const expected = [...altered].flatMap(([slot_id, { alteration }]) =>
    Object.entries(alteration.differences).map(
      ([metric, count]) => `${slot_id} ${metric} ${count} ${alteration.cause}`,
    ),
  )
  expect(altered.size).toBe(30)
  const found = differences.map(({ slot_id, metric, difference, cause, reason_code }) =>
    [slot_id, metric, difference, cause, ...(reason_code === null ? [] : [reason_code])].join(' '),
  )
  expect(found.toSorted()).toEqual(expected.toSorted())
  expect(new Set(causes.map(({ cause }) => cause)).size).toBe(6)
  for (const total of totals) {
    const sum = (parts: typeof causes | typeof differences) =>
      parts.filter(({ metric }) => metric === total.metric).reduce((all, { difference }) => all + difference, 0)
    expect([sum(causes), sum(differences)]).toEqual([total.difference, total.difference])
    expect(total.difference).toBe(total.own - total.accepted)
  }
})
