/**
 * Viewability against a measurement that shares nothing with it: random sequences on real placements, raw samples taken
 * by a script of its own in the page, a simple rule over them, and what the emulator counted beside it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Format } from '../../src/contract/fields.ts'
import { boxHtml, playAndRecord, recordPlayback, type Take } from './viewability-recorder.ts'
import { longestSpan, neededTime, type Recording, sample_every_ms, type Verdict, verdict } from './viewability-rule.ts'
import { type PageHide, pageHidesOf, type Sequence, sequencesOf } from './viewability-sequences.ts'
import { type Host, openWorld, type World } from './world.ts'

const seed = 20_260
const pages = 24
const pages_at_once = 3
const sequences_a_page = 10

/** One sequence, what its rule says, and what was made of it. */
interface Outcome {
  sequence: Sequence
  hides: PageHide[]
  recording: Recording
  verdict: Verdict
  /** Beacons `visible` that the emulator accepted, and those of them that production would bill. */
  counted: number
  billed: number
  loneTimerCounts: boolean
}

let world: World
let outcomes: Outcome[]

beforeAll(async () => {
  world = await openWorld({ rate_limit: 'off' })
  const seeds = Array.from({ length: pages }, (_, index) => seed + index)
  const waiting = [...seeds]
  const worker = async (): Promise<Outcome[]> => {
    const done: Outcome[] = []
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) done.push(...(await runPage(next)))
    return done
  }
  outcomes = (await Promise.all(Array.from({ length: pages_at_once }, worker))).flat()
}, 180_000)

afterAll(() => world?.[Symbol.asyncDispose]())

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
  return await Promise.all(
    sequences.map(async (sequence, index) => {
      const { slot_id, frame_url } = slots[index]!
      const recording = await recordingOf(host, takes[index]!, sequence, frame_url)
      const { beacons, billing } = await world.client.placements.explain({ params: { slot_id } })
      const counted = beacons.filter(({ event }) => event === 'visible')
      return {
        sequence,
        hides,
        recording,
        verdict: verdict(recording),
        counted: counted.length,
        billed: billing?.would_bill ? 1 : 0,
        loneTimerCounts: takes[index]!.lone_timer_at !== null,
      }
    }),
  )
}

async function mount(host: Host, { seed, kind }: Sequence): Promise<{ slot_id: string; frame_url: string }> {
  const format: Format = kind.format
  const response = await host.place({
    format,
    max_width: kind.width,
    max_height: kind.height,
    more: { session_id: `${host.session_id}-${seed}` },
  })
  expect(await host.mount(response, `#s${seed} .slot`)).toBe(true)
  return { slot_id: response.slot_id, frame_url: response.placement!.render.frame_url }
}

async function recordingOf(host: Host, take: Take, { kind }: Sequence, frame_url: string): Promise<Recording> {
  const frame = host.page.frames().find((frame) => frame.url() === frame_url)
  if (kind.format !== 'clip') return { samples: take.samples, playback: null }
  return { samples: take.samples, playback: (await frame?.evaluate(() => window.playback)) ?? [] }
}

describe('dwell', () => {
  test('debug', () => {
    const table: Record<string, number> = {}
    for (const o of outcomes) {
      const key = `${o.sequence.kind.format} ${o.verdict} ours=${o.counted} billed=${o.billed} lone=${o.loneTimerCounts}`
      table[key] = (table[key] ?? 0) + 1
      const span = longestSpan(o.recording)
      const bad = (o.verdict === 'counts' && o.counted !== 1) || (o.verdict === 'counts not' && o.counted !== 0)
      if (bad) console.log(JSON.stringify(o.sequence), JSON.stringify(o.hides), span, neededTime(o.recording))
    }
    console.log(table)
    const gaps = outcomes.map((o) => Math.max(...o.recording.samples.map((s, i) => s.t - (o.recording.samples[i - 1]?.t ?? s.t))))
    console.log('gaps', gaps.toSorted((a, b) => a - b).filter((_, i) => i % 20 === 0))
  })
})
