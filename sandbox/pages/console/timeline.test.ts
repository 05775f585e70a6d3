import { describe, expect, test } from 'vitest'
import type { ConsoleSlot } from '#contract/resources/sandbox/console-slots.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import { describeMeter, describeMissing } from './meter.ts'
import type { Slot } from './slots.ts'
import { readSteps } from './timeline.ts'
import { describeState } from './words.ts'

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
    elsewhere: null,
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
  [
    { outcome: 'not_seen', reason: 'faded', uncovered: 0.1 },
    false,
    'faded',
    'Stopped: faded. Opacity or effects around it leave too little of its contrast.',
  ],
  [{ outcome: 'not_seen', reason: 'label_unreadable' }, false, 'label', 'Stopped: its label cannot be read.'],
  [{ outcome: 'not_seen', reason: 'label_covered' }, false, 'label', 'Stopped: something lies over its label.'],
  [
    { outcome: 'not_seen', reason: 'hidden' },
    false,
    'hidden',
    'Stopped: hidden, by the styles of it or of an element around it.',
  ],
  [{ outcome: 'unmeasured', reason: 'faded' }, false, null, 'Counting: 0.42 s of 1.00 s.'],
  [{ ratio: 0.5 }, false, null, 'Counting: 0.42 s of 1.00 s.'],
  [{ outcome: 'seen', reason: 'cover_leaves_enough', uncovered: 0.6 }, false, null, 'Counting: 0.42 s of 1.00 s.'],
  [{ page_visible: false }, false, 'hidden page', 'Stopped: the page is hidden.'],
  [
    { needed: { ratio: Infinity, ms: Infinity }, width_px: 40, height_px: 33 },
    false,
    'too small',
    'Stopped: too small. It is shown at 40 × 33 pixels.',
  ],
  [
    { needed: { ratio: Infinity, ms: Infinity }, width_px: 0, height_px: 0 },
    false,
    'no room',
    'Stopped: its slot has no room.',
  ],
  [{ ratio: 0.3 }, false, 'out of view', 'Stopped: out of view. 30 % of it can be seen, 50 % needed.'],
  [{ uncovered: 0.2 }, false, 'covered', 'Stopped: covered. Something lies over it, or hides it.'],
  [{ uncovered: 0.2 }, true, 'covered', 'Stopped: covered. This console lies over it: move it.'],
] as const)('a meter with %o says what stops it', (found, isUnderConsole, hold, text) => {
  expect(describeMeter({ ...counting, ...found }, false, isUnderConsole)).toEqual({ hold, text })
})

test.each<[string, Partial<typeof counting>, object, RendererEvent[], string]>([
  ['what stops its view', { ratio: 0.3 }, {}, [], 'Stopped: out of view. 30 % of it can be seen, 50 % needed.'],
  ['that it counts', {}, {}, [], 'Counting: 0.42 s of 1.00 s.'],
  [
    'the room that its slot does not have',
    { isCounting: false, width_px: 0, height_px: 0, needed: { ratio: Infinity, ms: Infinity } },
    {},
    [],
    'Stopped: its slot has no room.',
  ],
  ['the fix of a clip that does not play', { isCounting: false }, {}, [], 'A generic fix.'],
  ['the fix of another metric', {}, { metric: 'click' }, [], 'A generic fix.'],
  ['the fix of a forced ad', {}, { gross_cpm: 0 }, [], 'A generic fix.'],
  [
    'the fix of a view that was sent',
    {},
    {},
    [{ type: 'beacon', event: 'visible' } as RendererEvent],
    'A generic fix.',
  ],
  [
    'what stops its view, whatever else was sent',
    { ratio: 0.3 },
    {},
    [
      { type: 'beacon', event: 'render' },
      { type: 'rendered', event: 'visible' },
    ] as unknown as RendererEvent[],
    'Stopped: out of view. 30 % of it can be seen, 50 % needed.',
  ],
])('what is missing for a bill is %s', (_, found, billing, events, text) => {
  const known = { missing: 'A generic fix.', metric: 'viewable_impression', gross_cpm: 4, ...billing }
  const ad = { measure: () => ({ ...counting, ...found }) }
  expect(describeMissing({ ad, events, sandbox: { billing: known } } as unknown as Slot, false)).toBe(text)
})

test('nothing is missing for a bill that is certain, nor known of an ad that is not mounted', () => {
  const billing = { missing: null, metric: 'viewable_impression', gross_cpm: 4 }
  const ad = { measure: () => ({ ...counting, ratio: 0.3 }) }
  const describe = (slot: object) => describeMissing({ ad, events: [], ...slot } as unknown as Slot, false)
  expect(describe({ sandbox: { billing } })).toBeNull()
  expect(describe({ sandbox: null })).toBeNull()
  const open = { billing: { ...billing, missing: 'A generic fix.' } }
  expect(describe({ ad: null, sandbox: open })).toBe('A generic fix.')
  expect(describe({ ad: { measure: () => null }, sandbox: open })).toBe('A generic fix.')
})

test.each([
  [300, 'loading', 'Decided. Its frame is loading.'],
  [0, 'no_room', 'Decided. Its slot has no room:'],
])('an ad that is not rendered in a frame of width %d waits for %s', (width_px, reason, text) => {
  const ad = { placement: { format: 'banner' }, measure: () => ({ ...counting, width_px }) }
  const state = { outcome: 'pending', stage: 'loading' }
  expect(describeState({ ad, state } as unknown as Slot)).toMatchObject({ reason, text: expect.stringContaining(text) })
})

const sendVisible = (accepted: boolean, reason_code: string) => ({
  type: 'beacon',
  event: 'visible',
  accepted,
  reason_code,
})

test.each([
  ['whose beacon is on its way', [], null],
  ['that the service has', [sendVisible(true, 'OK')], null],
  ['whose beacon was sent again', [sendVisible(false, 'network_error'), sendVisible(true, 'OK')], null],
  ['whose beacon the page blocked', [sendVisible(false, 'csp_blocked')], 'csp_blocked'],
  ['that the service refused', [sendVisible(false, 'consent_not_granted')], 'consent_not_granted'],
])('a view %s is one of %j', (_, events, reason) => {
  const ad = { placement: { format: 'banner' } }
  const lost = ' The service has not accepted that view: nothing is counted for it.'
  const describe = (state: object) => describeState({ ad, state, events } as unknown as Slot)
  const text = `A banner is shown, and has been viewed.${reason === null ? '' : lost}`
  expect(describe({ outcome: 'fill', isViewed: true })).toMatchObject({ chip: 'viewed', reason, text })
  const ended = describe({ outcome: 'ended', reason: 'destroyed', isViewed: true }).text
  expect(ended).toBe(`The page called destroy(). It was viewed.${reason === null ? '' : lost}`)
  const unseen = describe({ outcome: 'fill', isViewed: false }).text
  expect(unseen).toBe('A banner is shown. It has not been viewed yet.')
})
