import { expect, test } from 'vitest'
import { SuiteError } from '#yaml/problems.ts'
import { listRules } from './fault-rules.ts'
import { type Gameday, loadGameday } from './gameday-file.ts'
import { renderGameday } from './page.ts'
import { createPlan } from './plan.ts'
import { type RunRecord, summarizeLatency, type TurnStep } from './records.ts'
import { recordApp } from './sandbox-reading.ts'
import { judgeRuns } from './verdict.ts'

const text = `\
gameday: evening
seed: 7
rate: 10
length: 10s
view: 1s
patience: 1s
timeline:
  - { fault: away, at: 5s, for: 1s }
  - { fault: partner_slow, at: 2s, for: 2s, latency: 1500ms }
  - { fault: rate_limited, at: 3s, for: 1s, share: 50 % }
expect: { fills: 90 %, billed: 80%, p95: 2s, recovery: 1s }
`

const load = (changed: Partial<Record<string, string>> = {}): Gameday =>
  loadGameday(
    text
      .split('\n')
      .map((line) => changed[line.split(':', 1)[0]!] ?? line)
      .join('\n'),
    'evening.yaml',
  )

function problems(source: string): string {
  try {
    loadGameday(source, 'evening.yaml')
  } catch (error) {
    if (error instanceof SuiteError) return error.message
    throw error
  }
  return ''
}

test('the same seed makes the same plan, another seed another; each turn has a slot of its own', () => {
  const plan = createPlan(load())
  expect(createPlan(load())).toEqual(plan)
  expect(createPlan(load({ seed: 'seed: 8' })).turns).not.toEqual(plan.turns)
  expect(plan.turns).toHaveLength(100)
  expect(plan.turns.every(({ at_ms }, index) => Math.floor(at_ms / 100) === index)).toBe(true)
})

test('phases begin and end with the faults, and those that overlap are one phase', () => {
  expect(createPlan(load()).phases.map(({ name, from_ms, to_ms }) => [name, from_ms, to_ms])).toEqual([
    ['calm', 0, 2_000],
    ['partner_slow', 2_000, 3_000],
    ['partner_slow + rate_limited', 3_000, 4_000],
    ['after partner_slow + rate_limited', 4_000, 5_000],
    ['away', 5_000, 6_000],
    ['after away', 6_000, 10_000],
  ])
})

test('rules of faults end by themselves, and have the seed of the file', () => {
  const { timeline, seed } = load()
  const rules = timeline.flatMap((timed) => listRules(timed, seed))
  expect(
    rules.map(({ ttl_ms, seed, effect, status, rate, latency_ms }) => [
      ttl_ms,
      seed,
      effect ?? status,
      rate,
      latency_ms,
    ]),
  ).toEqual([
    [2_000, 7, 'delay', undefined, 1_500],
    [2_000, 7, 'delay', undefined, 1_500],
    [2_000, 7, 'delay', undefined, 1_500],
    [1_000, 7, 429, 0.5, undefined],
    [1_000, 7, 'reset', undefined, undefined],
  ])
})

test('everything that is wrong in a file is named with its place', () => {
  const wrong = text
    .replace('length: 10s', 'length: 10')
    .replace('fault: away', 'fault: gone')
    .replace('billed:', 'biled:')
  expect(problems(wrong).split('\n')).toEqual([
    'evening.yaml:4:9: length must be text, not a number. How long turns start, without the faults and again with them.',
    'evening.yaml:8:14: timeline.0.fault cannot be "gone". Known: partner_slow, rate_limited, away, consent_late.',
    'evening.yaml:11:24: Unknown field biled in expect. Did you mean billed?',
  ])
  const late = text
    .replace(', latency: 1500ms', '')
    .replace('for: 1s }', 'for: 9s, share: 5 % }')
    .replace(/expect:.*/, 'expect: {}')
  expect(problems(late).split('\n')).toEqual([
    'evening.yaml:8:44: away has no share. Leave it out.',
    'evening.yaml:8:33: The fault ends after the run. Make length longer, so that turns show whether the app recovers.',
    'evening.yaml:9:14: partner_slow needs latency. For example latency: 2s',
    'evening.yaml:11:9: Nothing is expected, so nothing would be judged. For example: { billed: 80 %, p95: 2s }',
  ])
})

test('latencies are by nearest rank, and turns without a decision have none', () => {
  const waits = Array.from({ length: 100 }, (_, index) => ({ at_ms: 0, latency_ms: 100 - index }))
  const summary = { median_ms: 50, p95_ms: 95, p99_ms: 99, max_ms: 100 }
  expect(summarizeLatency([...waits, { at_ms: 0, latency_ms: null }])).toEqual(summary)
  expect(summarizeLatency([{ at_ms: 0, latency_ms: null }])).toBeNull()
})

/** A run of the plan in which the turns of some times got no further than a step. */
function playedRun(stopped: (at_ms: number) => TurnStep | null, latency_ms = 10): RunRecord {
  const { turns } = createPlan(load())
  return {
    turns: turns.map(({ at_ms }) => {
      const step = stopped(at_ms)
      return { at_ms, step: step ?? 'billed', reason: step === null ? null : 'unreachable' }
    }),
    waits: turns.map(({ at_ms }) => ({ at_ms, latency_ms: stopped(at_ms) === 'turn' ? null : latency_ms })),
    is_paired: true,
  }
}

function judge(faulted: RunRecord, without = playedRun(() => null)) {
  const gameday = load()
  return judgeRuns(gameday, createPlan(gameday), { without, with: faulted })
}

test('shares are of the run without faults, and a missed one fails', () => {
  const verdict = judge(playedRun((at_ms) => (at_ms >= 5_000 && at_ms < 6_000 ? 'turn' : null)))
  expect(verdict.funnel.find(({ step }) => step === 'billed')).toEqual({
    step: 'billed',
    without: 100,
    with: 90,
    kept_percent: 90,
  })
  expect(verdict.losses).toEqual([{ phase: 'away', missed: 'requested', reason: 'unreachable', turns: 10, without: 0 }])
  expect(verdict.expectations.map(({ expectation, actual, ok }) => [expectation, actual, ok])).toEqual([
    ['fills', 90, true],
    ['billed', 90, true],
    ['p95', 10, true],
    ['recovery', 0, true],
  ])
  expect(verdict.ok).toBe(true)
  const worse = judge(playedRun((at_ms) => (at_ms >= 5_000 && at_ms < 9_000 ? 'filled' : null)))
  expect(worse.ok).toBe(false)
  expect(worse.expectations.filter(({ ok }) => !ok).map(({ expectation }) => expectation)).toEqual([
    'billed',
    'recovery',
  ])
})

test('each expected latency is judged by its own figure', () => {
  const gameday = load({ expect: 'expect: { median: 50ms, p95: 95ms, p99: 98ms }' })
  const faulted = playedRun(() => null)
  const waits = faulted.waits.map((wait, index) => ({ ...wait, latency_ms: index + 1 }))
  const { expectations } = judgeRuns(gameday, createPlan(gameday), { without: faulted, with: { ...faulted, waits } })
  expect(expectations.map(({ expectation, actual, ok }) => [expectation, actual, ok])).toEqual([
    ['median', 50, true],
    ['p95', 95, true],
    ['p99', 99, false],
  ])
})

test('a run without any fill is no measure of one with faults', () => {
  const empty = playedRun(() => 'decided')
  const { expectations, ok } = judge(empty, empty)
  expect(ok).toBe(false)
  expect(expectations[0]).toEqual({ expectation: 'fills', limit: 90, actual: null, ok: false })
})

test('recovery counts from the end of a fault to the last turn that it made worse', () => {
  const { recoveries } = judge(playedRun((at_ms) => (at_ms >= 5_000 && at_ms < 7_500 ? 'turn' : null)))
  expect(recoveries.map(({ fault, ended_ms, turns }) => [fault, ended_ms, turns])).toEqual([
    ['partner_slow + rate_limited', 4_000, 10],
    ['away', 6_000, 40],
  ])
  expect(recoveries[0]!.recovery_ms).toBe(0)
  expect(Math.floor(recoveries[1]!.recovery_ms! / 100)).toBe(14)
  const never = judge(playedRun((at_ms) => (at_ms >= 9_950 ? 'turn' : null)))
  expect(never.recoveries[1]!.recovery_ms).toBeNull()
  expect(never.expectations.at(-1)).toEqual({ expectation: 'recovery', limit: 1_000, actual: null, ok: false })
})

test('turns that the next fault reaches do not count as those of the fault before', () => {
  const { recoveries } = judge(playedRun((at_ms) => (at_ms >= 4_800 && at_ms < 6_000 ? 'filled' : null)))
  expect(recoveries.map(({ recovery_ms, turns }) => [recovery_ms, turns])).toEqual([
    [0, 10],
    [0, 40],
  ])
})

test('requests of an app in the span of the run are its turns, and one without a response has no decision', () => {
  const exchange = (at_ms: number, slot_id: string | null, status = 200) => ({
    ...{ request_id: 'req_1', method: 'POST', path: '/v1/placements', client_id: null, key: null, key_id: null },
    ...{ session_id: null, request_headers: {}, response_headers: {}, request_body: null, response_body: null },
    ...{ at_ms, slot_id, status, reason_code: null, duration_ms: 5 },
  })
  const slot = (slot_id: string, no_fill_reason: 'no_demand' | null = null) => ({
    ...{ slot_id, job_id: 'job_1', client_id: 'proj_demo', session_id: null, job_type: 'chat' as const },
    ...{ mode: 'test' as const, format: null, status: 'ready' as const, fill: no_fill_reason === null },
    ...{ no_fill_reason, campaign_id: null, created_at_ms: 1_000, decided_at_ms: 1_250 },
  })
  const run = {
    exchanges: [
      exchange(900, 'slot_1'),
      exchange(1_000, 'slot_1'),
      exchange(1_100, 'slot_2'),
      exchange(1_200, 'slot_3', 0),
      exchange(1_300, null, 429),
      exchange(9_000, 'slot_1'),
    ],
    placements: [slot('slot_1'), slot('slot_2', 'no_demand'), slot('slot_3')],
    reached: new Map<string, TurnStep>([['slot_1', 'billed']]),
    started_at_ms: 1_000,
    length_ms: 5_000,
  }
  const record = recordApp({ ...run, waits: null })
  // Pages ask when they have loaded.
  expect(recordApp({ ...run, waits: [] }).turns.at(-1)).toEqual({ at_ms: 4_999, step: 'billed', reason: null })
  expect(record.turns).toEqual([
    { at_ms: 0, step: 'billed', reason: null },
    { at_ms: 0, step: 'billed', reason: null },
    { at_ms: 100, step: 'decided', reason: 'no_demand' },
    { at_ms: 200, step: 'requested', reason: 'no_response' },
    { at_ms: 300, step: 'requested', reason: 'status_429' },
  ])
  expect(record.waits.map(({ latency_ms }) => latency_ms)).toEqual([350, 250, 150, null, null])
})

test('the page has the verdict, both charts, and no script', () => {
  const gameday = load({ gameday: 'gameday: "<b>evening</b>"' })
  const plan = createPlan(gameday)
  const runs = { without: playedRun(() => null), with: playedRun((at_ms) => (at_ms < 5_000 ? 'turn' : null)) }
  const { name, seed, rate, length_ms, timeline } = gameday
  const report = { gameday: name, seed, rate, length_ms, timeline, looked_at: ['Own turns.'], plan: plan.turns, runs }
  const page = renderGameday({ ...report, ...judgeRuns(gameday, plan, runs) }, '0.1.0')
  expect(page).toContain('<h1>&lt;b&gt;evening&lt;/b&gt;</h1>\n<p class="bad">3 expectations missed</p>')
  expect(page).toContain('<td>billed views kept</td><td>at least 80 %</td><td>50 %</td>')
  expect(page.match(/<svg/g)).toHaveLength(2)
  expect(page.match(/class="lost with"/g)).toHaveLength(50)
  expect(page).not.toMatch(/<script|undefined|NaN|https?:/)
})
