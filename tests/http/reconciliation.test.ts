/** Two hundred turns as an app records them, thirty of them wrong in six ways: each is found, with its cause, and no other. */
import { expect, test } from 'vitest'
import type { Metric } from '#contract/resources/beacons.ts'
import type { OwnCounts } from '#reconciliation/own-counts.ts'
import { parseOwnFile } from '#reconciliation/own-file.ts'
import { readOwnReport } from '#reconciliation/own-report.ts'
import { type Reconciliation, reconcile } from '#reconciliation/reconciliation.ts'
import { readTurns, type TurnSource } from '#reconciliation/turns.ts'
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

function sourceOf({ api }: Stage): TurnSource {
  return {
    placements: async (query) => (await api.accept('placements.list', { query: { ...query } })).body,
    beacons: async (query) => (await api.accept('beacons.list', { query: { ...query } })).body,
  }
}

function sumCounts(records: readonly Played[]): OwnCounts {
  const lines = records.map(({ slot_id, impressions, views }) => `${slot_id},${impressions},${views}`)
  const text = ['slot_id,impressions,views', ...lines, ''].join('\r\n')
  return readOwnReport(parseOwnFile(text))!.counts
}

function compare(records: readonly Played[], known: Awaited<ReturnType<typeof readTurns>>): Reconciliation {
  return reconcile(sumCounts(records), known.turns, { mode: 'test', since_ms: null, until_ms: null }, 0)
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
  const known = await readTurns(sourceOf(on))
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

test('reads and compares the days of the turns that a file names, and no other', async () => {
  await using on = await stage({ rate_limit: 'off' })
  const days: Played[][] = []
  for (let day = 0; day < 3; day++) {
    days.push(await Promise.all(Array.from({ length: 20 }, (_, index) => play(on, `d${day}s${index}`, 'viewed'))))
    on.clock.advance(86_400_000)
  }
  const [, middle = []] = days
  const [lost] = middle
  const own = sumCounts(middle.slice(1))
  const known = await readTurns(sourceOf(on), { own })
  expect(known.turns.map(({ slot_id }) => slot_id)).toEqual(middle.map(({ slot_id }) => slot_id).toSorted())
  const result = reconcile(own, known.turns, { mode: 'test', since_ms: null, until_ms: null }, 0)
  expect(result.differences.map(({ slot_id, cause }) => [slot_id, cause])).toEqual([
    [lost?.slot_id, 'not_recorded'],
    [lost?.slot_id, 'not_recorded'],
  ])
  expect(result.days).toEqual({ first: result.days?.last, last: result.days?.last, zone: 'UTC' })
  // The same from all turns, which a page of the sandbox reads.
  const all = await readTurns(sourceOf(on))
  expect(all.turns).toHaveLength(60)
  expect(reconcile(own, all.turns, { mode: 'test', since_ms: null, until_ms: null }, 0)).toEqual(result)
  // --since widens it, also to days that the file does not speak of.
  const span = { since_ms: 0, until_ms: null }
  const wide = await readTurns(sourceOf(on), { own, span })
  expect(reconcile(own, wide.turns, { mode: 'test', ...span }, 0).differences).toHaveLength(2 * 41)
  // A file that names nothing here is compared with everything: its rows were never requested.
  const foreign = sumCounts([{ ...lost!, slot_id: 'slot_00000000zzz' }])
  expect((await readTurns(sourceOf(on), { own: foreign })).turns).toHaveLength(60)
})

test('beacons of a list of turns are those that billing judges, and a heartbeat where there is no other', async () => {
  await using on = await stage({ rate_limit: 'off' })
  const { api, clock } = on
  const ask = async (session_id: string) =>
    (await api.accept('placements.create', { as: key, body: asked({ session_id }) })).body
  const [viewed, silent] = [await ask('viewed'), await ask('silent')]
  const send = (placement: typeof viewed.placement, event: string, more: Record<string, unknown> = {}) =>
    api.send('POST', '/v1/beacons', { as: key, body: beacon(clock, placement!, event, more) })
  await send(viewed.placement, 'render')
  await send(viewed.placement, 'heartbeat')
  await send(viewed.placement, 'visible', { occurred_at_ms: clock.now() - 172_800_000 })
  await send(silent.placement, 'heartbeat')
  const query = { with_beacons: 'true', slot_ids: `${silent.slot_id},${viewed.slot_id}` } as const
  const { items } = (await api.accept('placements.list', { query })).body
  const shown = items.map(({ slot_id, framed, beacons = [] }) => [
    slot_id,
    framed,
    ...beacons.map(({ event, verdict, reason_code, metric }) => [event, verdict, reason_code, metric].join(' ')),
  ])
  expect(shown).toEqual([
    [silent.slot_id, false, 'heartbeat accepted OK '],
    [viewed.slot_id, false, 'render accepted OK rendered_impression', 'visible rejected beacon_stale '],
  ])
  const none = (await api.accept('placements.list', { query: { slot_ids: 'slot_00000000zzz,nonsense' } })).body
  expect(none.items).toEqual([])
  const early = { until: String(clock.now() - 1) }
  expect((await api.accept('placements.list', { query: early })).body.items).toEqual([])
})
