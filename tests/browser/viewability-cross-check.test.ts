/**
 * Viewability against a measurement that shares nothing with it: random sequences on real placements, raw samples taken
 * by a script of its own in the page, a simple rule over them, and beside it what the emulator counted.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { boxHtml, playAndRecord, recordPlayback } from './viewability-recorder.ts'
import {
  type LongestSpan,
  longestSpan,
  type Recording,
  sample_every_ms,
  type Verdict,
  verdict,
} from './viewability-rule.ts'
import { type PageHide, pageHidesOf, type Sequence, sequencesOf } from './viewability-sequences.ts'
import { type Host, openWorld, type World } from './world.ts'

/** Sequences are the same in every run; a failure tells which of them it was. */
const seed = 20_260
const pages = 25
const pages_at_once = 3
const sequences_a_page = 10

interface Outcome {
  sequence: Sequence
  hides: PageHide[]
  /** What the rule makes of the samples. */
  verdict: Verdict
  span: LongestSpan
  /** Every `visible` that the emulator got for this placement, whatever became of it. */
  beacons: { verdict: string; would_bill: boolean }[]
  loneTimerCounts: boolean
}

let world: World
let outcomes: Outcome[]

beforeAll(async () => {
  world = await openWorld({ rate_limit: 'off' })
  const seeds = Array.from({ length: pages }, (_, index) => seed + index)
  const runPages = async (): Promise<Outcome[]> => {
    const done: Outcome[] = []
    for (let next = seeds.shift(); next !== undefined; next = seeds.shift()) done.push(...(await runPage(next)))
    return done
  }
  outcomes = (await Promise.all(Array.from({ length: pages_at_once }, runPages))).flat()
}, 240_000)

afterAll(() => world?.[Symbol.asyncDispose]())

test('what was surely viewable is counted and billed, and what surely was not is not', () => {
  expect(outcomes.filter((outcome) => isWrong(outcome, outcome.beacons.length > 0))).toEqual([])
  const counted = outcomes.flatMap(({ beacons }) => beacons)
  expect(counted.filter(({ verdict, would_bill }) => verdict !== 'accepted' || !would_bill)).toEqual([])
})

test('no placement is counted twice', () => {
  expect(outcomes.filter(({ beacons }) => beacons.length > 1)).toEqual([])
})

test('at least 200 sequences are decided, of each sort at least 60', () => {
  const count = (wanted: Verdict): number => outcomes.filter(({ verdict }) => verdict === wanted).length
  expect(count('counts')).toBeGreaterThanOrEqual(60)
  expect(count('counts not')).toBeGreaterThanOrEqual(60)
  expect(count('counts') + count('counts not')).toBeGreaterThanOrEqual(200)
})

test('a lone timer, started when half is in view and never cancelled, is found out', () => {
  const wrong = outcomes.filter((outcome) => isWrong(outcome, outcome.loneTimerCounts))
  expect(wrong.length).toBeGreaterThanOrEqual(40)
})

function isWrong({ verdict }: Outcome, isCounted: boolean): boolean {
  return verdict !== 'either' && isCounted !== (verdict === 'counts')
}

async function runPage(page_seed: number): Promise<Outcome[]> {
  const sequences = sequencesOf(page_seed, sequences_a_page)
  const hides = pageHidesOf(page_seed)
  await using host = await world.open({
    html: sequences.map(boxHtml).join('\n'),
    context: { viewport: { width: 2_300, height: 1_600 } },
    before: (page) => page.context().addInitScript(recordPlayback),
  })
  const slots = await Promise.all(sequences.map((sequence) => mount(host, sequence)))
  await host.told('rendered', {}, sequences.length)
  const takes = await host.page.evaluate(playAndRecord, { sequences, hides, every_ms: sample_every_ms })
  await answered(host)
  return await Promise.all(
    sequences.map(async (sequence, index): Promise<Outcome> => {
      const { slot_id, frame_url } = slots[index]!
      const { samples, lone_timer_at } = takes[index]!
      const playback = sequence.kind.format === 'clip' ? await playbackOf(host, frame_url) : null
      const recording: Recording = { samples, playback }
      const { items } = await world.client.beacons.list({ query: { slot_id, event: 'visible' } })
      return {
        sequence,
        hides,
        verdict: verdict(recording),
        span: longestSpan(recording),
        beacons: items.map(({ verdict, would_bill }) => ({ verdict, would_bill })),
        loneTimerCounts: lone_timer_at !== null,
      }
    }),
  )
}

async function mount(host: Host, { seed, kind }: Sequence): Promise<{ slot_id: string; frame_url: string }> {
  const { format, width, height } = kind
  const session_id = `${host.session_id}-${seed}`
  const response = await host.place({ format, max_width: width, max_height: height, more: { session_id } })
  expect(await host.mount(response, `#s${seed} .slot`)).toBe(true)
  return { slot_id: response.slot_id, frame_url: response.placement!.render.frame_url }
}

/** Waits until the emulator has answered every `visible` of the page. */
async function answered(host: Host): Promise<void> {
  await host.page.waitForFunction(
    () => {
      const events = window.SponsoredPlacement!.getEvents()
      const beacons = events.filter((event) => event.type === 'beacon' && event.event === 'visible')
      return beacons.length === events.filter(({ type }) => type === 'visible').length
    },
    undefined,
    { polling: 50, timeout: 15_000 },
  )
}

async function playbackOf(host: Host, frame_url: string): Promise<Recording['playback']> {
  const frame = host.page.frames().find((frame) => frame.url() === frame_url)
  return (await frame?.evaluate(() => window.playback)) ?? []
}
