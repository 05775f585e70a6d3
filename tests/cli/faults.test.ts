import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
beforeEach(async () => {
  expect((await cli.svc('sandbox faults remove --all -q')).code).toBe(0)
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
})

test('faults add --times 1 fails one request, then it works; list shows the count', async () => {
  const added = await cli.svc('sandbox faults add --path /v1/placements --times 1 --retry-after-s 0 -o json')
  expect({ code: added.code, stderr: added.stderr }).toEqual({ code: 0, stderr: '' })
  const { fault_id } = JSON.parse(added.stdout) as { fault_id: string }
  const listed = await cli.svc('sandbox faults list')
  expect(listed.stdout).toMatch(new RegExp(`${fault_id} +error +no +- +/v1/placements`))
  expect((await cli.svc('placements create')).code).toBe(7)
  expect((await cli.svc('placements create')).code).toBe(0)
  const { items } = JSON.parse((await cli.svc('sandbox faults list -o json')).stdout) as {
    items: Record<string, unknown>[]
  }
  expect(items).toMatchObject([{ fault_id, times: 1, matched: 2, injected: 1 }])
})

test('add prints what was given, and no default', async () => {
  const { stdout } = await cli.svc('sandbox faults add --path /v1/beacons --times 2 --status 503 --latency-ms 5')
  const { items } = JSON.parse((await cli.svc('sandbox faults list -o json')).stdout) as {
    items: { fault_id: string }[]
  }
  const id = items[0]!.fault_id
  expect(stdout).toBe(`\
Added ${id}, effect error. Remove it: svc sandbox faults remove ${id}
  path     /v1/beacons
  status   503
  times    2
  latency  5ms
`)
})

test('every kind of fault has its flags', async () => {
  const flags =
    '--method POST --path /v1/never --key sk_live_ --session-id s --format clip --effect delay --served --latency-ms 5 --latency-max-ms 9 --rate 0.5 --seed 3 --after 2 --ttl-ms 1000'
  const { code, stdout } = await cli.svc(`sandbox faults add ${flags} -o json`)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    method: 'POST',
    path: '/v1/never',
    key: 'sk_live_',
    session_id: 's',
    format: 'clip',
    effect: 'delay',
    served: true,
    latency_ms: 5,
    latency_max_ms: 9,
    rate: 0.5,
    seed: 3,
    after: 2,
    ttl_ms: 1000,
  })
  const rewrite = await cli.svc(
    'sandbox faults add --path /v1/never --effect rewrite --set rewrite.status=later -o json',
  )
  expect(JSON.parse(rewrite.stdout)).toMatchObject({ effect: 'rewrite', rewrite: { status: 'later' } })
})

test('remove deletes one rule, clear all of them', async () => {
  const { stdout } = await cli.svc('sandbox faults add -o json')
  const { fault_id } = JSON.parse(stdout) as { fault_id: string }
  await cli.svc('sandbox faults add --path /v1/never')
  expect((await cli.svc(`sandbox faults remove ${fault_id}`)).code).toBe(0)
  expect((await cli.svc(`sandbox faults remove ${fault_id}`)).code).toBe(3)
  expect((await cli.svc('placements create')).code).toBe(0)
  expect(JSON.parse((await cli.svc('sandbox faults remove --all -o json')).stdout)).toEqual({ cleared: 1 })
})

test('a typing error is reported before anything is sent', async () => {
  const { code, stderr } = await cli.svc('sandbox faults add --rate 2')
  expect(code).toBe(2)
  expect(stderr).toContain('--rate')
})
