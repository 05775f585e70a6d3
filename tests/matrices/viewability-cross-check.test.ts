/**
 * Viewability against an independent measurement: random sequences on real placements, raw samples taken by a script in
 * the page, a simple rule over them, and the views that the emulator counted.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage } from '#tests/browser/stage.ts'
import { isWrong, measurePage, type Outcome } from '#tests/browser/viewability-pages.ts'
import type { Verdict } from '#tests/browser/viewability-rule.ts'

/** Sequences are the same in every run. A failure names its sequence. */
const first_seed = 20_260
const pages_at_once = 3
/** On a busy host samples are far apart and decide less, so more pages are needed. */
const most_pages = 60
const enough = { counts: 60, 'counts not': 60, decided: 200 }
let stage: Stage
const outcomes: Outcome[] = []

beforeAll(async () => {
  stage = await openStage({ rate_limit: 'off' }, undefined, 'flows')
  let next_seed = first_seed
  const runPages = async (): Promise<void> => {
    while (!isEnough() && next_seed < first_seed + most_pages) outcomes.push(...(await measurePage(stage, next_seed++)))
  }
  await Promise.all(Array.from({ length: pages_at_once }, runPages))
})

afterAll(() => stage?.[Symbol.asyncDispose]())

test('what was surely viewable is counted and billed, and what surely was not is not', () => {
  expect(outcomes.filter((outcome) => isWrong(outcome, outcome.beacons.length > 0))).toEqual([])
  const counted = outcomes.flatMap(({ beacons }) => beacons)
  expect(counted.filter(({ verdict, would_bill }) => verdict !== 'accepted' || !would_bill)).toEqual([])
})

test('no placement is counted twice', () => {
  expect(outcomes.filter(({ beacons }) => beacons.length > 1)).toEqual([])
})

test('enough sequences are decided, and enough of either sort', () => {
  expect(decided('counts')).toBeGreaterThanOrEqual(enough.counts)
  expect(decided('counts not')).toBeGreaterThanOrEqual(enough['counts not'])
  expect(decided('counts') + decided('counts not')).toBeGreaterThanOrEqual(enough.decided)
})

test('a naive timer, started when half is in view and never cancelled, is detected', () => {
  const wrong = outcomes.filter((outcome) => isWrong(outcome, outcome.naiveTimerCounts))
  expect(wrong.length).toBeGreaterThanOrEqual(40)
})

function decided(wanted: Verdict): number {
  return outcomes.filter(({ verdict }) => verdict === wanted).length
}

function isEnough(): boolean {
  const [counts, countsNot] = [decided('counts'), decided('counts not')]
  return counts >= enough.counts && countsNot >= enough['counts not'] && counts + countsNot >= enough.decided
}
