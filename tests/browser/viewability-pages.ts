/** A page of random sequences on real placements, measured by a script in the page and counted by the emulator. */
import { expect } from 'vitest'
import type { Host, Stage } from './stage.ts'
import { boxHtml, playAndRecord, recordPlayback } from './viewability-recorder.ts'
import {
  type LongestSpan,
  longestSpan,
  type Recording,
  sample_every_ms,
  type Verdict,
  verdict,
} from './viewability-rule.ts'
import { listPageHides, listSequences, type PageHide, type Sequence } from './viewability-sequences.ts'

const sequences_a_page = 10
/** Attempts to mount a placement whose frame is not painted in time. */
const most_mounts = 6

export interface Outcome {
  sequence: Sequence
  hides: PageHide[]
  /** The verdict of the rule on the samples. */
  verdict: Verdict
  span: LongestSpan
  /** Every `visible` beacon of this placement, accepted or not. */
  beacons: { verdict: string; would_bill: boolean }[]
  naiveTimerCounts: boolean
}

export function isWrong({ verdict }: Outcome, isCounted: boolean): boolean {
  return verdict !== 'either' && isCounted !== (verdict === 'counts')
}

/**
 * Plays the sequences of a seed on real placements of one page, and resolves with what was measured and what was counted.
 * `formats` are the formats to play: where nothing can be recorded in the frame of a clip, there is nothing to compare.
 */
export async function measurePage(
  stage: Stage,
  page_seed: number,
  formats: readonly string[] = ['banner', 'native', 'clip'],
): Promise<Outcome[]> {
  const sequences = listSequences(page_seed, sequences_a_page).filter(({ kind }) => formats.includes(kind.format))
  const hides = listPageHides(page_seed)
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
      const playback = sequence.kind.format === 'clip' ? await readPlayback(host, frame_url) : null
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
    { polling: 50 },
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
    { polling: 50 },
  )
}

async function readPlayback(host: Host, frame_url: string): Promise<Recording['playback']> {
  const frame = host.page.frames().find((frame) => frame.url() === frame_url)
  const playback = await frame?.evaluate(() => window.playback)
  if (playback === undefined) throw new Error(`The frame ${frame_url} has gone.`)
  return playback
}
