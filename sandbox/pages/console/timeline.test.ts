import { describe, expect, test } from 'vitest'
import type { ConsoleSlot } from '#contract/resources/sandbox/console-slots.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import type { Slot } from './slots.ts'
import { readSteps } from './timeline.ts'
import { describeMeter } from './words.ts'

const requested = 1_000_000

/** A slot with these events at these times, and what the sandbox says of it. */
function slotWith(times: Partial<Record<RendererEvent['type'], number>>, sandbox: Partial<ConsoleSlot> | null): Slot {
  const events = Object.entries(times).map(([type, at_ms]) => ({ type, at_ms })) as RendererEvent[]
  const state = { outcome: 'fill', isViewed: false } as const
  return {
    key: 'one',
    name: '#ad',
    turn: null,
    ad: null,
    sandbox: sandbox as ConsoleSlot,
    slot_id: null,
    state,
    events,
  }
}

const decided = { requested_at_ms: requested, decided_at_ms: requested + 10, frame_loaded_at_ms: requested + 40 }

describe('the steps of a turn', () => {
  test('begin where the page began to wait, and end where it stopped', () => {
    const times = { 'turn:started': requested - 30, decision: requested + 20, rendered: requested + 100 }
    expect(readSteps(slotWith(times, decided))).toEqual([
      { name: 'Decision', from_ms: 0, to_ms: 50, isWaiting: false },
      { name: 'Frame', from_ms: 50, to_ms: 70, isWaiting: false },
      { name: 'Paint', from_ms: 70, to_ms: 130, isWaiting: false },
      { name: 'Viewable', from_ms: 130, to_ms: null, isWaiting: true },
    ])
  })

  test('are those of the sandbox where the clock of the page was corrected meanwhile', () => {
    const times = { 'turn:started': requested - 3_600_000, decision: requested - 3_599_000, rendered: requested + 100 }
    expect(readSteps(slotWith(times, decided)).map(({ to_ms }) => to_ms)).toEqual([10, 40, 100, null])
  })

  test('are those of the page where no sandbox answers, and none without a request', () => {
    const times = {
      'turn:started': requested,
      decision: requested + 20,
      rendered: requested + 60,
      visible: requested + 1_060,
    }
    expect(readSteps(slotWith(times, null)).map(({ name, to_ms }) => [name, to_ms])).toEqual([
      ['Decision', 20],
      ['Paint', 60],
      ['Viewable', 1_060],
    ])
    expect(readSteps(slotWith({}, null))).toEqual([])
  })
})

const counting = {
  ratio: 1,
  uncovered: 1,
  visible_ms: 420,
  width_px: 300,
  height_px: 250,
  page_visible: true,
  needed: { ratio: 0.5, ms: 1_000 },
  isCounting: true,
}

test.each([
  [{}, false, null, 'Counting: 0.42 s of 1.00 s.'],
  [{ page_visible: false }, false, 'hidden page', 'Stopped: the page is hidden.'],
  [
    { needed: { ratio: Infinity, ms: Infinity }, width_px: 40, height_px: 33 },
    false,
    'too small',
    'Stopped: too small. It is shown at 40 × 33 pixels.',
  ],
  [{ ratio: 0.3 }, false, 'out of view', 'Stopped: out of view. The viewport has 30 % of it, 50 % needed.'],
  [{ uncovered: 0.2 }, false, 'covered', 'Stopped: covered. Something lies over it, or hides it.'],
  [{ uncovered: 0.2 }, true, 'covered', 'Stopped: covered. This console lies over it: move it.'],
] as const)('a meter with %o says what stops it', (found, isUnderConsole, hold, text) => {
  expect(describeMeter({ ...counting, ...found }, false, isUnderConsole)).toEqual({ hold, text })
})
