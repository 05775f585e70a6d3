import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

test('svc beacons billing shows what counted, the sum, and why the rest did not', async () => {
  expect((await cli.svc('beacons billing')).stdout).toBe('Nothing counted yet.\n')
  await cli.svc('placements create --format banner --topic coffee')
  await cli.svc('beacons send --event render')
  await cli.svc('sandbox clock advance 2s')
  await cli.svc('beacons send --event visible --set measurements.visible_ratio=1 --set measurements.visible_ms=2000')
  await cli.svc('beacons send --event render')
  const { code, stdout, stderr } = await cli.svc('beacons billing')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toBe(`\
project    format  metric               count  price CPM  amount      publisher  currency
proj_demo  banner  rendered_impression      1        4.2  not billed  -          USD
proj_demo  banner  viewable_impression      1        4.2  0.0042      0.00294    USD

project    model         billed   total  publisher  currency
proj_demo  cpm_viewable       1  0.0042    0.00294  USD

did not count    beacons
ALREADY_COUNTED        1
`)
  expect((await cli.svc('beacons billing --by format')).stdout).toContain(`\
format  project    metric               count  amount      publisher  currency
banner  proj_demo  rendered_impression      1  not billed  -          USD
banner  proj_demo  viewable_impression      1  0.0042      0.00294    USD
`)
  expect((await cli.svc('beacons billing --by country -o csv')).stdout.split('\r\n')).toEqual([
    'client_id,group,metric,is_billed,currency,count,amount,publisher_amount',
    'proj_demo,,rendered_impression,false,USD,1,0,0',
    'proj_demo,,viewable_impression,true,USD,1,0.0042,0.00294',
    '',
  ])
  await cli.svc('placements create --format banner')
  await cli.svc('placements create --no-fill')
  for (const flags of ['', '--since 1h', '-o json']) {
    expect((await cli.svc(`beacons billing ${flags}`)).stderr).toBe(
      'Without a render beacon: 1 of 2 fills. List them: svc placements list --missing rendered\n' +
        'Never viewed: 1 of 2 fills. List them: svc placements list --missing visible\n',
    )
  }
  for (const flags of ['-q', '--session-id elsewhere', '--client-id proj_other', '--until 1h'])
    expect((await cli.svc(`beacons billing ${flags}`)).stderr).toBe('')
  const other = await cli.svc('beacons billing --client-id proj_other -o json')
  expect(JSON.parse(other.stdout)).toMatchObject({ lines: [], not_counted: { count: 0 } })
})

test('a report by session is of a page of them, and says how to get the next', async () => {
  for (const session_id of ['one', 'two']) {
    await cli.svc(`placements create --format banner --topic coffee --session-id ${session_id}`)
    await cli.svc('beacons send --event render')
  }
  const by = 'beacons billing --by session -o csv --until 1m'
  await cli.svc('sandbox clock advance 2m')
  const sessions = (csv: string) =>
    csv
      .split('\r\n')
      .flatMap((line) => line.split(',')[1] ?? [])
      .slice(1)
  const first = await cli.svc(`${by} --limit 1`)
  const [, cursor] = /^More sessions: --cursor (\S+)\n$/.exec(first.stderr) ?? []
  expect(sessions(first.stdout)).toEqual(['two'])
  const next = await cli.svc(`${by} --limit 1 --cursor ${cursor}`)
  expect(sessions(next.stdout)).toEqual(['one'])
  expect((await cli.svc(`${by} --limit 1000`)).stderr).toBe('')
})
