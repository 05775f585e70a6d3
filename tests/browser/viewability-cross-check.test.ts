/**
 * Viewability against an independent measurement: random sequences on real placements, raw samples taken by a script in
 * the page, a simple rule over them, and the views that the emulator counted.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Host, openStage, type Stage } from './stage.ts'
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

/** Sequences are the same in every run. A failure names its sequence. */
const first_seed = 20_260
const sequences_a_page = 10
const pages_at_once = 3
/** On a busy host samples are far apart and decide less, so more pages are needed. */
const most_pages = 60
const enough = { counts: 60, 'counts not': 60, decided: 200 }
/** Attempts to mount a placement whose frame is not painted in time. */
const most_mounts = 6

interface Outcome {
  sequence: Sequence
  hides: PageHide[]
  /** The verdict of the rule on the samples. */
  verdict: Verdict
  span: LongestSpan
  /** Every `visible` beacon of this placement, accepted or not. */
  beacons: { verdict: string; would_bill: boolean }[]
  naiveTimerCounts: boolean
}

let stage: Stage
const outcomes: Outcome[] = []

beforeAll(async () => {
  stage = await openStage({ rate_limit: 'off' })
  let next_seed = first_seed
  const runPages = async (): Promise<void> => {
    while (!isEnough() && next_seed < first_seed + most_pages) outcomes.push(...(await runPage(next_seed++)))
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

function isWrong({ verdict }: Outcome, isCounted: boolean): boolean {
  return verdict !== 'either' && isCounted !== (verdict === 'counts')
}

async function runPage(page_seed: number): Promise<Outcome[]> {
  const sequences = sequencesOf(page_seed, sequences_a_page)
  const hides = pageHidesOf(page_seed)
  await using host = await stage.open({
    html: sequences.map(boxHtml).join('\n'),
    context: { viewport: { width: 2_300, height: 1_600 } },
    before: (page) => page.context().addInitScript(recordPlayback),
  })
  const slots = await mountAll(host, sequences)
  const takes = await host.page.evaluate(playAndRecord, { sequences, hides, every_ms: sample_every_ms })
  await answered(host)
  return await Promise.all(
    sequences.map(async (sequence, index): Promise<Outcome> => {
      const { slot_id, frame_url } = slots[index]!
      const { samples, naive_timer_at } = takes[index]!
      const playback = sequence.kind.format === 'clip' ? await playbackOf(host, frame_url) : null
      const recording: Recording = { samples, playback }
      const { items } = await stage.client.beacons.list({ query: { slot_id, event: 'visible' } })
      return {
        sequence,
        hides,
        verdict: verdict(recording),
        span: longestSpan(recording),
        beacons: items.map(({ verdict, would_bill }) => ({ verdict, would_bill })),
        naiveTimerCounts: naive_timer_at !== null,
      }
    }),
  )
}

interface Slot {
  slot_id: string
  frame_url: string
}

async function mountAll(host: Host, sequences: readonly Sequence[]): Promise<Slot[]> {
  const slots = await Promise.all(sequences.map((sequence) => mount(host, sequence)))
  for (const [index, sequence] of sequences.entries()) {
    for (let mounts = 1; !(await isRendered(host, slots[index]!)); mounts++) {
      if (mounts === most_mounts) throw new Error(`The frame of sequence ${sequence.seed} is not painted in time.`)
      slots[index] = await mount(host, sequence)
    }
  }
  return slots
}

async function mount(host: Host, { seed, kind }: Sequence): Promise<Slot> {
  const { format, width, height } = kind
  const session_id = `${host.session_id}-${seed}`
  const response = await host.place({ format, max_width: width, max_height: height, more: { session_id } })
  expect(await host.mount(response, `#s${seed} .slot`)).toBe(true)
  return { slot_id: response.slot_id, frame_url: response.placement!.render.frame_url }
}

/** Waits until a placement is rendered or has failed. Resolves to whether it is rendered. */
async function isRendered(host: Host, { slot_id }: Slot): Promise<boolean> {
  const outcome = await host.page.waitForFunction(
    (slot_id) => {
      const events = window.SponsoredPlacement!.getEvents().filter((event) => event.slot_id === slot_id)
      return events.find(({ type }) => type === 'rendered' || type === 'cleared')?.type
    },
    slot_id,
    { polling: 50, timeout: 30_000 },
  )
  return (await outcome.jsonValue()) === 'rendered'
}

/** Waits until every `visible` of the page has its response. */
async function answered(host: Host): Promise<void> {
  await host.page.waitForFunction(
    () => {
      const events = window.SponsoredPlacement!.getEvents()
      const beacons = events.filter((event) => event.type === 'beacon' && event.event === 'visible')
      return beacons.length === events.filter(({ type }) => type === 'visible').length
    },
    undefined,
    { polling: 50, timeout: 30_000 },
  )
}

async function playbackOf(host: Host, frame_url: string): Promise<Recording['playback']> {
  const frame = host.page.frames().find((frame) => frame.url() === frame_url)
  const playback = await frame?.evaluate(() => window.playback)
  if (playback === undefined) throw new Error(`The frame ${frame_url} has gone.`)
  return playback
}
