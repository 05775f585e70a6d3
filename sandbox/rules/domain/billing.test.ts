import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AcceptedBeacon, type BillingModel, judgeBeacons, type PricedCreative } from '#contract/beacon-verdict.ts'
import { limits } from '#contract/limits.ts'
import { type NoFillReason, noFillReasons } from '#contract/no-fill.ts'
import { type BeaconItem, beaconEvents, type Measurements } from '#contract/resources/beacons.ts'
import { BillingVerdict } from '#contract/resources/placements.ts'
import { findBillingFix, judgeBilling } from './billing-verdict.ts'

const banner: PricedCreative = {
  format: 'banner',
  width: 300,
  height: 250,
  duration_ms: null,
  gross_cpm: 4.2,
  currency: 'USD',
}
const clip: PricedCreative = { ...banner, format: 'clip', width: 640, height: 360, duration_ms: 10_000 }
const seen: Measurements = { visible_ratio: 0.8, visible_ms: 1_200, page_visible: true }
const models: BillingModel[] = ['cpm_viewable', 'cpm_render', 'cpc', 'cpcv']

function beacon(
  id: number,
  event: AcceptedBeacon['event'],
  at_ms = id * 100,
  measurements: Measurements | null = null,
): AcceptedBeacon {
  return { id, event, occurred_at_ms: at_ms, received_at_ms: at_ms + 50, measurements }
}

function codes(beacons: AcceptedBeacon[], creative = banner, model: BillingModel = 'cpm_viewable') {
  const verdicts = judgeBeacons(model, creative, limits.viewability, beacons)
  return beacons.map(({ id }) => verdicts.get(id)?.reason_code)
}

function billedIds(beacons: AcceptedBeacon[], model: BillingModel, creative = banner) {
  const verdicts = judgeBeacons(model, creative, limits.viewability, beacons)
  return [...verdicts].filter(([, verdict]) => verdict.would_bill).map(([id]) => id)
}

describe('before the render beacon', () => {
  test('visible, click, playback and completion wait, and count when the render has arrived', () => {
    const early = [
      beacon(1, 'visible', 1_000, seen),
      beacon(2, 'click', 1_100),
      beacon(3, 'play_started', 1_200),
      beacon(4, 'play_completed', 11_200),
    ]
    expect(codes(early, clip)).toEqual(Array(4).fill('AWAITING_RENDER'))
    expect(billedIds(early, 'cpc', clip)).toEqual([])
    const whole = [...early, beacon(5, 'render', 2_000)]
    expect(codes(whole, clip)).toEqual(['BELOW_THRESHOLD', 'OK', 'OK', 'OK', 'OK'])
    expect(billedIds(whole, 'cpc', clip)).toEqual([2])
  })

  test('a heartbeat does not wait', () => {
    expect(codes([beacon(1, 'heartbeat')])).toEqual(['OK'])
  })
})

describe('at most once per metric', () => {
  test('the earliest by time of the event counts, not by arrival', () => {
    const beacons = [
      beacon(1, 'render', 900),
      beacon(2, 'click', 2_000),
      beacon(3, 'click', 1_000),
      beacon(4, 'render', 950),
    ]
    expect(codes(beacons)).toEqual(['OK', 'ALREADY_COUNTED', 'OK', 'ALREADY_COUNTED'])
  })

  test('at the same time the lower id counts', () => {
    expect(codes([beacon(2, 'render', 900), beacon(1, 'render', 900)])).toEqual(['ALREADY_COUNTED', 'OK'])
  })

  test('play_completed and completion are one completed view', () => {
    const beacons = [
      beacon(1, 'render', 0),
      beacon(2, 'play_started', 100),
      beacon(3, 'play_completed', 10_100),
      beacon(4, 'completion', 10_101),
    ]
    expect(codes(beacons, clip)).toEqual(['OK', 'OK', 'OK', 'ALREADY_COUNTED'])
    expect(billedIds(beacons, 'cpcv', clip)).toEqual([3])
  })

  test('a beacon that does not count leaves the metric to the next', () => {
    const beacons = [
      beacon(1, 'render', 0),
      beacon(2, 'visible', 500, { ...seen, page_visible: false }),
      beacon(3, 'visible', 600, { ...seen, visible_ms: 999 }),
      beacon(4, 'visible', 1_500, seen),
      beacon(5, 'visible', 2_500, seen),
      beacon(6, 'visible', 3_500, { ...seen, visible_ratio: 0.1 }),
    ]
    expect(codes(beacons)).toEqual(['OK', 'PAGE_HIDDEN', 'BELOW_THRESHOLD', 'OK', 'ALREADY_COUNTED', 'BELOW_THRESHOLD'])
    expect(billedIds(beacons, 'cpm_viewable')).toEqual([4])
  })
})

test('visible counts only when both ratio and dwell were measured', () => {
  const measured: (Measurements | null)[] = [null, {}, { visible_ratio: 1 }, { visible_ms: 5_000 }]
  for (const measurements of measured) {
    const beacons = [beacon(1, 'render', 0), beacon(2, 'visible', 9_000, measurements)]
    expect([measurements, ...codes(beacons)]).toEqual([measurements, 'OK', 'VISIBILITY_UNMEASURED'])
    expect(billedIds(beacons, 'cpm_viewable')).toEqual([])
  }
})

test('an ad shown under 50 px, or half of a declared side that is less, is not billed', () => {
  const view = (width: number, height: number, shown: Measurements, model: BillingModel = 'cpm_viewable') => {
    const beacons = [beacon(1, 'render', 0, shown), beacon(2, 'visible', 9_000, { ...seen, ...shown })]
    const creative = { ...banner, width, height }
    return [codes(beacons, creative)[1], billedIds(beacons, model, creative).length]
  }
  expect(view(300, 250, { width_px: 1, height_px: 1 })).toEqual(['TOO_SMALL', 0])
  expect(view(300, 250, { width_px: 0, height_px: 0 })).toEqual(['TOO_SMALL', 0])
  expect(view(300, 250, { width_px: 300, height_px: 49 })).toEqual(['TOO_SMALL', 0])
  expect(view(300, 250, { width_px: 50, height_px: 50 })).toEqual(['OK', 1])
  expect(view(320, 50, { width_px: 320, height_px: 24 })).toEqual(['TOO_SMALL', 0])
  expect(view(320, 50, { width_px: 50, height_px: 25 })).toEqual(['OK', 1])
  expect(view(320, 50, { width_px: 49 })).toEqual(['TOO_SMALL', 0])
  expect(view(320, 50, {})).toEqual(['OK', 1])
  expect(codes([beacon(1, 'render', 0), beacon(2, 'visible', 9_000, { visible_ratio: 1, width_px: 1 })])[1]).toBe(
    'TOO_SMALL',
  )
})

test('a view whose engine cannot tell what covers the ad is not billed; how it was checked otherwise is', () => {
  const view = (visibility_check?: Measurements['visibility_check']) => {
    const measured = visibility_check === undefined ? seen : { ...seen, visibility_check }
    return codes([beacon(1, 'render', 0), beacon(2, 'visible', 9_000, measured)])[1]
  }
  expect([view(), view('observer_v2'), view('hit_test')]).toEqual(['OK', 'OK', 'OK'])
  expect(view('none')).toBe('VISIBILITY_UNMEASURED')
})

test('a view of a clip waits until it has played for two seconds, whatever order the beacons have', () => {
  const view = (started_at_ms: number | null, at_ms: number, position_ms?: number) => {
    const played = started_at_ms === null ? [] : [beacon(3, 'play_started', started_at_ms)]
    const shown = { visible_ratio: 1, visible_ms: 2_000, ...(position_ms === undefined ? {} : { position_ms }) }
    return codes([beacon(2, 'visible', at_ms, shown), beacon(1, 'render', 100), ...played], clip)[0]
  }
  expect(view(100, 2_100)).toBe('OK')
  expect(view(100, 2_100, 2_000)).toBe('OK')
  expect(view(100, 2_100, 1_999)).toBe('AWAITING_PLAY')
  expect(view(null, 2_100)).toBe('AWAITING_PLAY')
  expect(view(null, 2_100, 2_000)).toBe('AWAITING_PLAY')
  // Two clocks may differ by 50 ms, and a time in whole seconds may be any millisecond of them.
  expect(view(2_150, 2_100)).toBe('OK')
  expect(view(2_151, 2_100)).toBe('AWAITING_PLAY')
  expect(view(3_999, 3_000)).toBe('OK')
  expect(view(4_000, 3_000)).toBe('AWAITING_PLAY')
  const waits = { visible_ratio: 1, visible_ms: 1_000, position_ms: 0 }
  expect(codes([beacon(1, 'render', 100), beacon(2, 'visible', 2_100, waits)])[1]).toBe('OK')
})

test('a dwell longer than the time since the render is not billed', () => {
  const view = (at_ms: number, visible_ms: number) =>
    codes([beacon(1, 'render', 100), beacon(2, 'visible', at_ms, { visible_ratio: 1, visible_ms })])[1]
  expect(view(1_700, 1_600)).toBe('OK')
  expect(view(1_700, 1_651)).toBe('MEASUREMENT_IMPLAUSIBLE')
  expect(view(50, 5_000)).toBe('MEASUREMENT_IMPLAUSIBLE')
  // A time in whole seconds may be any millisecond of them.
  expect(view(2_000, 2_899)).toBe('OK')
  expect(view(2_000, 2_900)).toBe('MEASUREMENT_IMPLAUSIBLE')
})

describe('completion', () => {
  test('needs nine tenths of the clip since the start of playback', () => {
    const started = [beacon(1, 'render', 0), beacon(2, 'play_started', 5_000)]
    expect(codes([...started, beacon(3, 'completion', 13_999)], clip).at(-1)).toBe('COMPLETED_TOO_FAST')
    expect(codes([...started, beacon(3, 'completion', 14_000)], clip).at(-1)).toBe('OK')
  })

  test('is measured from the render without a start of playback', () => {
    expect(codes([beacon(1, 'render', 0), beacon(2, 'play_completed', 8_999)], clip).at(-1)).toBe('COMPLETED_TOO_FAST')
    expect(codes([beacon(1, 'render', 0), beacon(2, 'play_completed', 9_000)], clip).at(-1)).toBe('OK')
  })

  test('is measured from the first start when a clip plays again', () => {
    const beacons = [
      beacon(1, 'render', 0),
      beacon(2, 'play_started', 100),
      beacon(3, 'play_started', 8_000),
      beacon(4, 'completion', 10_100),
    ]
    expect(codes(beacons, clip).at(-1)).toBe('OK')
  })
})

test('only the metric of the billing model would bill; every metric that counts is reported', () => {
  const beacons = [
    beacon(1, 'render', 0),
    beacon(2, 'play_started', 10),
    beacon(3, 'visible', 2_100, { ...seen, visible_ms: 2_000 }),
    beacon(4, 'click', 3_000),
    beacon(5, 'completion', 10_010),
    beacon(6, 'heartbeat', 10_020),
  ]
  expect(models.map((model) => billedIds(beacons, model, clip))).toEqual([[3], [1], [4], [5]])
  const metrics = [...judgeBeacons('cpc', clip, limits.viewability, beacons).values()].map((verdict) => verdict.metric)
  expect(metrics).toEqual(['rendered_impression', null, 'viewable_impression', 'click', 'completed_view', null])
})

describe('judgeBilling', () => {
  const verdict = (model: BillingModel, creative: PricedCreative, beacons: AcceptedBeacon[]) =>
    judgeBilling(model, creative, limits.viewability, beacons)
  const rendered = beacon(1, 'render', 0)

  test('names the metric, the price and why', () => {
    expect(verdict('cpm_viewable', banner, [rendered, beacon(2, 'visible', 1_000, seen)])).toEqual({
      metric: 'viewable_impression',
      would_bill: true,
      gross_cpm: 4.2,
      currency: 'USD',
      explanation: 'One viewable impression counted.',
    })
  })

  test('bills nothing of a forced ad, whose price is 0', () => {
    const free = { ...banner, gross_cpm: 0 }
    expect(verdict('cpm_viewable', free, [rendered, beacon(2, 'visible', 1_000, seen)])).toMatchObject({
      would_bill: false,
      explanation: 'Its price is 0, as of every forced ad.',
    })
  })

  test.each([
    ['cpm_viewable', banner, [rendered], 'No viewable impression: no visible beacon was accepted.'],
    ['cpc', banner, [beacon(2, 'click')], 'No click: no render beacon has arrived yet.'],
    [
      'cpm_viewable',
      banner,
      [rendered, beacon(2, 'visible', 10, { visible_ms: 10 })],
      'No viewable impression: the view is below the viewability threshold.',
    ],
    [
      'cpm_viewable',
      banner,
      [rendered, beacon(2, 'visible', 10, { page_visible: false })],
      'No viewable impression: the page was hidden.',
    ],
    [
      'cpm_viewable',
      banner,
      [rendered, beacon(2, 'visible')],
      'No viewable impression: the visible beacon has no measurements.visible_ratio or visible_ms, or its visibility_check is none.',
    ],
    [
      'cpm_viewable',
      banner,
      [rendered, beacon(2, 'visible', 1_001, { ...seen, visible_ms: 9_000 })],
      'No viewable impression: the claimed visible_ms is longer than the time since render.',
    ],
    [
      'cpcv',
      clip,
      [rendered, beacon(2, 'completion', 10)],
      'No completed view: the clip completed sooner than it can play.',
    ],
    ['cpcv', banner, [rendered], 'No completed view: only a clip can be completed.'],
    ['cpcv', clip, [rendered], 'No completed view: no completion beacon was accepted.'],
    ['cpc', banner, [rendered], 'No click: no click beacon was accepted.'],
    ['cpm_render', banner, [], 'No rendered impression: no render beacon was accepted.'],
  ] as [BillingModel, PricedCreative, AcceptedBeacon[], string][])(
    '%s of %o',
    (model, creative, beacons, explanation) => {
      expect(verdict(model, creative, beacons)).toMatchObject({ would_bill: false, explanation })
    },
  )
})

describe('for any beacons', () => {
  const measured: fc.Arbitrary<Measurements | null> = fc.option(
    fc.record(
      {
        visible_ratio: fc.constantFrom(0.2, 0.4, 1),
        visible_ms: fc.constantFrom(0, 1_000, 2_000),
        page_visible: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  )
  const sets = fc
    .array(fc.record({ event: fc.constantFrom(...beaconEvents), at_ms: fc.nat(12_000), measured }), { maxLength: 12 })
    .map((rows) => rows.map(({ event, at_ms, measured }, index) => beacon(index + 1, event, at_ms, measured)))
  const shuffled = sets.chain((beacons) =>
    fc.tuple(fc.constant(beacons), fc.shuffledSubarray(beacons, { minLength: beacons.length })),
  )
  const model = fc.constantFrom(...models)

  test('the order of arrival changes no verdict', () => {
    fc.assert(
      fc.property(shuffled, model, ([beacons, other], model) => {
        const judged = judgeBeacons(model, clip, limits.viewability, beacons)
        const again = judgeBeacons(model, clip, limits.viewability, other)
        expect(Object.fromEntries(again)).toEqual(Object.fromEntries(judged))
        expect(judgeBilling(model, clip, limits.viewability, other)).toEqual(
          judgeBilling(model, clip, limits.viewability, beacons),
        )
      }),
    )
  })

  test('nothing is billed twice, nothing without a render, and the verdict agrees with its beacons', () => {
    fc.assert(
      fc.property(sets, model, (beacons, model) => {
        const verdicts = [...judgeBeacons(model, clip, limits.viewability, beacons).values()]
        expect(verdicts).toHaveLength(beacons.length)
        const counted = verdicts.flatMap(({ metric }) => metric ?? [])
        expect(new Set(counted).size).toBe(counted.length)
        const bills = verdicts.filter(({ would_bill }) => would_bill)
        expect(bills.length).toBeLessThanOrEqual(1)
        if (!beacons.some(({ event }) => event === 'render')) expect(counted).toEqual([])
        const verdict = BillingVerdict.parse(judgeBilling(model, clip, limits.viewability, beacons))
        expect(verdict.would_bill).toBe(bills.length === 1)
      }),
    )
  })

  test('one more beacon never revokes a render, a view or a click', () => {
    fc.assert(
      fc.property(sets, fc.constantFrom<BillingModel>('cpm_viewable', 'cpm_render', 'cpc'), (beacons, model) => {
        if (beacons.length === 0 || billedIds(beacons.slice(1), model, clip).length === 0) return
        expect(billedIds(beacons, model, clip)).toHaveLength(1)
      }),
    )
  })
})

describe('what to do', () => {
  const none = {
    would_bill: false,
    metric: 'viewable_impression',
    gross_cpm: 1,
    currency: 'USD',
    explanation: '',
  } as const
  const facts: Parameters<typeof findBillingFix>[0] = {
    status: 'ready',
    format: 'banner',
    no_fill_reason: null,
    billing: none,
    beacons: [],
    first_frame_at_ms: null,
  }
  const sent = (
    event: AcceptedBeacon['event'] | null,
    verdict: 'accepted' | 'rejected' | 'duplicate',
    reason_code: BeaconItem['reason_code'],
  ) => ({ event, verdict, reason_code }) as BeaconItem

  test('begins with what is missing first: a decision, a frame, beacons', () => {
    expect(findBillingFix({ ...facts, status: 'pending', billing: null })).toMatch(/^Poll /)
    expect(findBillingFix(facts)).toMatch(/^No frame of it was loaded\./)
    expect(findBillingFix({ ...facts, first_frame_at_ms: 1 })).toMatch(/^Its frame was loaded, and no beacon arrived:/)
    expect(findBillingFix({ ...facts, billing: { ...none, would_bill: true } })).toBe(null)
  })

  test('names each cause that only the page knows, and what decides', () => {
    const unframed = findBillingFix(facts)
    for (const cause of ['frame_url', 'authoritative_consent', 'frame-src', 'svc observe --url'])
      expect(unframed).toContain(cause)
    const silent = findBillingFix({ ...facts, first_frame_at_ms: 1 })
    for (const cause of ['not displayed', 'origin is not allowed', 'connect-src', 'svc observe --url'])
      expect(silent).toContain(cause)
  })

  test('about a fill that expired unseen is not to mount its frame, which is refused by now', () => {
    expect(findBillingFix({ ...facts, status: 'expired' })).toMatch(/^It expired before it was shown\./)
  })

  test('about a forced ad is to force none', () => {
    const fix = findBillingFix({ ...facts, billing: { ...none, gross_cpm: 0 } })
    expect(fix).toBe('Leave out overrides.force_campaign_id, or end the scenario that forces it.')
  })

  test('about a clip that never played names its play button', () => {
    const rendered = { ...facts, beacons: [sent('render', 'accepted', 'OK')] }
    expect(findBillingFix(rendered)).toMatch(/^Bring the frame into view/)
    expect(findBillingFix({ ...rendered, format: 'clip' })).toMatch(
      /^Bring at least half of the clip into view: .*reduced motion/,
    )
  })

  test('about a clip that played, or has not started, is another', () => {
    const played = [sent('render', 'accepted', 'OK'), sent('play_started', 'accepted', 'OK')]
    expect(findBillingFix({ ...facts, format: 'clip', beacons: played })).toMatch(/^Bring the frame into view/)
    expect(findBillingFix({ ...facts, format: 'clip' })).toMatch(/^No frame /)
  })

  test('is nothing where only a user can act', () => {
    const rendered = { ...facts, beacons: [sent('render', 'accepted', 'OK')] }
    expect(findBillingFix({ ...rendered, billing: { ...none, metric: 'click' } })).toBeNull()
    expect(findBillingFix({ ...rendered, format: 'clip', billing: { ...none, metric: 'click' } })).toBeNull()
  })

  test('is not about a duplicate, nor about a beacon of another metric', () => {
    const beacons = [sent('visible', 'duplicate', 'DUPLICATE'), sent('click', 'accepted', 'ALREADY_COUNTED')]
    expect(findBillingFix({ ...facts, beacons })).toMatch(/^Bring the frame into view/)
  })

  test('is about a beacon that could not be read, until one of the metric falls short', () => {
    const unread = sent(null, 'rejected', 'schema_invalid')
    expect(findBillingFix({ ...facts, beacons: [unread] })).toMatch(/^Correct the listed fields/)
    const hidden = sent('visible', 'accepted', 'PAGE_HIDDEN')
    expect(findBillingFix({ ...facts, beacons: [hidden, unread] })).toMatch(/visibilityState/)
  })

  test('about a no-fill follows from its reason', () => {
    const findFix = (no_fill_reason: NoFillReason) => findBillingFix({ ...facts, no_fill_reason, billing: null })
    for (const each of Object.keys(noFillReasons)) expect(findFix(each as NoFillReason), each).toMatch(/^[A-Z].+\.$/)
    expect(findFix('below_floor')).toMatch(/^Change the request/)
    expect(findFix('test_forced')).toBe('Leave out test_outcome.')
    expect(findFix('consent_not_granted')).toMatch(/when consent is granted\.$/)
  })

  test('is about the render beacon that was refused, not about the view that waits for one', () => {
    const beacons = [
      sent('render', 'rejected', 'beacon_before_decision'),
      sent('visible', 'accepted', 'AWAITING_RENDER'),
    ]
    expect(findBillingFix({ ...facts, beacons })).toBe("Stamp it with the server's time; the client's clock is behind.")
    expect(findBillingFix({ ...facts, beacons: beacons.slice(1) })).toMatch(/^Send a render beacon when/)
  })

  test('says where the fields of a refused beacon are listed', () => {
    const fix = findBillingFix({ ...facts, beacons: [sent('render', 'rejected', 'schema_invalid')] })
    expect(fix).toBe('Correct the listed fields. They are in the response: svc requests list --reason schema_invalid')
  })
})
