/** `svc trigger`: whole turns over HTTP, each step as the scenario says, and nothing of the sandbox changed by it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { triggerScenarios } from '#commands/trigger/scenarios.ts'
import type { Step } from '#commands/trigger/turn.ts'
import { startTestCli, svc, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

const listSteps = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Step)

/** Its offset to real time grows while the clock of a test stands still. */
const clockOf = (stdout: string) => ({ ...(JSON.parse(stdout) as { now_ms: number }), offset_ms: null })

test('every scenario goes as it says, in every format, and leaves no fault and no setting behind', async () => {
  const before = await cli.svc('sandbox clock show -o json')
  for (const format of ['banner', 'clip', 'native']) {
    const { code, stdout, stderr } = await cli.svc(`trigger all --format ${format} -o jsonl`)
    const steps = listSteps(stdout)
    expect(steps.filter(({ ok }) => !ok)).toEqual([])
    expect(code).toBe(0)
    expect(new Set(steps.map(({ scenario }) => scenario)).size).toBe(triggerScenarios.length)
    expect(stderr).toBe(`${triggerScenarios.length} turns, ${steps.length} steps, all as expected.\n`)
  }
  expect(JSON.parse((await cli.svc('sandbox faults list -o json')).stdout)).toMatchObject({ items: [] })
  const after = clockOf((await cli.svc('sandbox clock show -o json')).stdout)
  // Expired moves it, by 2 ms in each of the three formats.
  expect(after).toEqual({ ...clockOf(before.stdout), now_ms: clockOf(before.stdout).now_ms + 6 })
  const settings = JSON.parse((await cli.svc('sandbox projects show -o json')).stdout) as { settings: object }
  expect(settings.settings).toMatchObject({ frame_load_within_ms: 300_000 })
})

test('a turn is what the journal shows: activation, placement, frame and beacons in order, and it bills', async () => {
  const { stdout } = await cli.svc('trigger clip -o json')
  const steps = listSteps(stdout)
  expect(steps.map(({ step, result }) => `${step}: ${result}`)).toEqual([
    'activate: activated',
    'placement: fill',
    'frame: loaded',
    'beacon render: OK',
    'beacon play_started: OK',
    'beacon visible: OK',
    'beacon heartbeat: OK',
    'beacon play_completed: OK',
    'beacon click: OK',
    'verdict: bills',
  ])
  const slot_id = steps[1]!.slot_id
  const listed = await cli.svc(`beacons list --slot-id ${slot_id} -o jsonl`)
  const sent = listed.stdout
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { beacon_id: string }).beacon_id)
  expect(sent.toReversed()).toEqual(steps.flatMap(({ beacon_id }) => beacon_id ?? []))
  // The verdict is read from the control plane, which keeps no journal.
  for (const { request_id } of steps.slice(0, -1)) {
    const shown = await cli.svc(`requests show ${request_id} -o json`)
    expect(JSON.parse(shown.stdout)).toMatchObject({ request_id })
  }
})

test('the scenarios have a turn for the refusals and no-fills that an integration meets', async () => {
  const { stdout } = await cli.svc('trigger all -o jsonl')
  const results = new Set(listSteps(stdout).map(({ result }) => result))
  const met = 'asset_token_expired asset_token_invalid beacon_id_conflict beacon_in_future beacon_stale field_unknown'
  const others = 'slot_mismatch event_not_supported_for_format consent_not_granted consent_superseded injected_fault'
  const more =
    'rate_limited test_forced below_floor size_mismatch AWAITING_RENDER BELOW_THRESHOLD PAGE_HIDDEN DUPLICATE'
  for (const name of `${met} ${others} ${more}`.split(' ')) expect(results).toContain(name)
})

test('on a slow sandbox the times of a turn begin when its ad is shown', async () => {
  await using slow = await startTestCli()
  await slow.svc('sandbox projects update --set decision_latency_ms=3000')
  const turn = slow.svc('trigger pending -o jsonl')
  // The clock stands still: only this makes the decision due.
  const slots = async () => (await slow.svc('placements list -o jsonl')).stdout
  await expect.poll(slots, { interval: 10 }).toContain('"status":"pending"')
  await slow.svc('sandbox clock advance 3s')
  const { code, stdout } = await turn
  expect(listSteps(stdout).filter(({ ok }) => !ok)).toEqual([])
  expect(code).toBe(0)
})

test('a step that does not go as its scenario says is marked, and is exit code 5', async () => {
  await using other = await startTestCli()
  await other.svc('sandbox faults add --path /v1/beacons --times 1')
  const { code, stdout, stderr } = await other.svc('trigger banner')
  expect(code).toBe(5)
  expect(stdout).toMatch(/✗ beacon render +503 injected_fault/)
  expect(stderr).toContain('1 turn, 7 steps, ')
})

test('--repeat and --rate play turns at a pace; --list names what there is', async () => {
  const started = performance.now()
  const { stdout } = await cli.svc('trigger no_fill --repeat 3 --rate 10 -o jsonl')
  expect(performance.now() - started).toBeGreaterThan(190)
  expect(listSteps(stdout).map(({ turn }) => turn)).toEqual([1, 1, 2, 3])
  const listed = await cli.svc('trigger --list')
  for (const { name, what } of triggerScenarios) expect(listed.stdout).toMatch(new RegExp(`^${name} .*${what}$`, 'm'))
})

test('nothing is sent with a production key, nor for a scenario that there is not', async () => {
  const env = { SVC_HOME: cli.home, SVC_SECRET_KEY: 'sk_live_x', SVC_BASE_URL: cli.sandbox.url }
  expect(await svc('trigger', { env })).toMatchObject({ code: 4, stdout: '' })
  expect(await cli.svc('trigger baner')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean banner?'),
  })
  expect(await cli.svc('trigger --rate 0')).toMatchObject({ code: 2, stdout: '' })
})
