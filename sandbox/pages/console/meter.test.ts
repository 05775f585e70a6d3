/** The gauges of a view: their numbers are those of the measurement. */
import { expect, test } from 'vitest'
import type { AdMeter, ConsoleAd } from '#renderer/host/console-page.ts'
import { drawMeter } from './meter.ts'
import type { Slot } from './slots.ts'
import type { Branch } from './tree.ts'

const half: AdMeter = {
  ...{ ratio: 0.8, uncovered: 0.5, visible_ms: 250, width_px: 300, height_px: 250, page_visible: true },
  ...{ needed: { ratio: 0.5, ms: 1_000 }, isCounting: true },
}

/** Draws the meter of an ad, of which it needs the measurement alone. */
function drawMeterFor(meter: AdMeter | null, isViewed = false, isUnderConsole = false): Branch | null {
  const ad: Pick<ConsoleAd, 'isViewed' | 'measure'> = { isViewed, measure: () => meter }
  return drawMeter({ ad } as Slot, isUnderConsole)
}

/** Returns every element below one, itself first. */
function listBranches(branch: Branch): Branch[] {
  return [branch, ...branch.children.flatMap((child) => (typeof child === 'string' ? [] : listBranches(child)))]
}

function readGauges(branch: Branch | null) {
  return listBranches(branch!)
    .filter(({ attributes }) => attributes.role === 'meter')
    .map((gauge) => {
      const sizes = listBranches(gauge).flatMap(({ attributes }) => attributes['--size'] ?? attributes['--from'] ?? [])
      const { 'aria-label': name, 'aria-valuenow': now, 'aria-valuetext': text } = gauge.attributes
      return [name, now, text, ...sizes]
    })
}

test.each<[string, Partial<AdMeter>, boolean, readonly (readonly string[])[]]>([
  [
    'what is in view and not covered, and the time so far',
    {},
    false,
    [
      ['Pixels', '40', '40 % of 50 %', '80%', '40%', '50%'],
      ['Dwell', '25', '0.25 s of 1.00 s', '0%', '25%'],
    ],
  ],
  [
    'no more than all of the time',
    { uncovered: 1, visible_ms: 1_400 },
    false,
    [
      ['Pixels', '80', '80 % of 50 %', '80%', '80%', '50%'],
      ['Dwell', '100', '1.40 s of 1.00 s', '0%', '100%'],
    ],
  ],
  [
    'the whole time of an ad that was viewed, which starts over when it leaves',
    { ratio: 0, visible_ms: 0 },
    true,
    [
      ['Pixels', '0', '0 % of 50 %', '0%', '0%', '50%'],
      ['Dwell', '100', '1.00 s of 1.00 s', '0%', '100%'],
    ],
  ],
  [
    'no threshold of an ad that is too small to count',
    { needed: { ratio: Number.POSITIVE_INFINITY, ms: Number.POSITIVE_INFINITY }, uncovered: 1 },
    false,
    [
      ['Pixels', '80', '80 % of –', '80%', '80%'],
      ['Dwell', '0', '0.25 s of –', '0%', '0%'],
    ],
  ],
])('show %s', (_, changes, isViewed, expected) => {
  expect(readGauges(drawMeterFor({ ...half, ...changes }, isViewed))).toEqual(expected)
})

test.each<[string, Partial<AdMeter>, boolean, boolean, string, string]>([
  ['counting', { uncovered: 1 }, false, false, 'good', 'Counting: 0.25 s of 1.00 s.'],
  ['viewed', {}, true, false, 'good', 'Viewed: the dwell is met.'],
  ['hidden page', { page_visible: false }, false, false, 'warn', 'Stopped: the page is hidden.'],
  [
    'waiting',
    { isCounting: false },
    false,
    false,
    'plain',
    'Not started: the creative is not painted, or not playing.',
  ],
  ['out of view', { ratio: 0.49 }, false, false, 'warn', '49 % of it can be seen, 50 % needed.'],
  ['covered', {}, false, false, 'warn', 'Something lies over it, or hides it.'],
  ['covered', {}, false, true, 'warn', 'This console lies over it: move it.'],
])('say %s: %j', (chip, changes, isViewed, isUnderConsole, tone, text) => {
  const drawn = listBranches(drawMeterFor({ ...half, ...changes }, isViewed, isUnderConsole)!)
  const hold = drawn.find(({ attributes }) => attributes.class === 'hold')!
  expect([hold.attributes['data-tone'], String(hold.children[0])]).toEqual([tone, expect.stringContaining(text)])
  expect(drawn.some(({ children }) => children.includes(chip))).toBe(true)
})

test('an ad that is not mounted has none', () => {
  expect(drawMeterFor(null)).toBeNull()
  expect(drawMeter({ ad: null } as Slot, false)).toBeNull()
})
