/** `svc beacons reconcile`: what is printed for the counts of an integrator, and what a file that cannot be read gets. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
  await cli.svc('placements create --format banner --session s1 -q')
  await cli.svc('beacons send --event render -q')
  await cli.svc('sandbox clock advance 2s -q')
  await cli.svc('beacons send --event visible --set measurements.visible_ratio=1 --set measurements.visible_ms=2000 -q')
  await cli.svc('placements create --no-fill --session s1 -q')
  await cli.svc('placements create --format banner --session s2 -q')
  await cli.svc('beacons send --event render -q')
})
afterAll(() => cli[Symbol.asyncDispose]())

/** Compares a file. Options of the command stand before its name. */
async function reconcile(options: string, ...lines: string[]) {
  writeFileSync(join(cli.home, 'own.csv'), `${lines.join('\n')}\n`)
  return cli.svc(`beacons reconcile own.csv ${options}`, { cwd: cli.home })
}

const slots = async () => {
  const { stdout } = await cli.svc('placements list --jq .items[].slot_id')
  return stdout.trim().split('\n').toReversed() as [string, string, string]
}

test('prints the totals, the causes with what they explain, what to change, and each turn', async () => {
  const [viewed, empty, rendered] = await slots()
  const rows = [`${viewed},1,1`, `${empty},1,0`, `${rendered},1,1`, 'slot_00000000zzz,2,0']
  const { code, stdout, stderr } = await reconcile('', 'slot_id,Impressions,Ad views', ...rows)
  expect({ code, stderr }).toEqual({
    code: 6,
    stderr: `\
Not all was compared: no column was found for viewable_impression, which counts here, and Ad views was not read. Name it: --map "Ad views=viewable_impression", or "Ad views=none" for another count
Read rendered_impression from Impressions.
Not read: Ad views. --map reads one.
Compared are the days of your file, 2026-01-31 (UTC). Others: --since
Only test traffic is compared. Your file names 0 live and 3 test turns of the sandbox. Other traffic: --mode live, test or all
`,
  })
  expect(stdout).toBe(`\
metric               yours  accepted  difference  percent  deviation  verdict
rendered_impression      5         2          +3   +150 %      150 %  above 0 %

cause            reason       metric               count  explains
never_requested  -            rendered_impression      1        +2
no_fill_counted  test_forced  rendered_impression      1        +1

never_requested              It was never requested in what is compared. Log the slot_id of the response as it is, and compare with the sandbox, project and session that you counted.
no_fill_counted test_forced  It had no ad: test_forced. Count only decisions with fill: true.

slot              session  metric               yours  accepted  explained  cause
${empty}  s1       rendered_impression      1         0         +1  no_fill_counted test_forced
slot_00000000zzz  -        rendered_impression      2         0         +2  never_requested
`)
  const mapped = await reconcile("--map 'Ad views=viewable_impression' -o csv", 'slot_id,Ad views', `${rendered},1`)
  expect(mapped.code).toBe(6)
  expect(mapped.stdout.split('\r\n')).toEqual([
    'slot_id,session_id,day,metric,own,accepted,difference,lines,is_possible,possible,cause,reason_code,meaning',
    `${viewed},s1,,viewable_impression,0,1,-1,[],false,[],not_recorded,,"It counts here, and your file does not count it."`,
    `${rendered},s2,,viewable_impression,1,0,1,[2],false,[],not_viewed,,"It was rendered, and no view of it arrived."`,
    '',
  ])
})

test('a metric without a column, and a column that was not read, end with exit code 5 where all else is equal', async () => {
  const [viewed, , rendered] = await slots()
  const rows = ['slot_id,Impressions,Ad views', `${viewed},1,1`, `${rendered},1,0`]
  expect((await reconcile('-q', ...rows)).code).toBe(5)
  expect((await reconcile("--map 'Ad views=none' -q", ...rows)).code).toBe(0)
  expect((await reconcile("--map 'Ad views=viewable_impression' -q", ...rows)).code).toBe(0)
})

test('a file without a count is nothing to compare, though the sandbox counts', async () => {
  const [viewed] = await slots()
  const { stdout: rejected } = await cli.svc('beacons list --verdict rejected -o csv')
  for (const [flags, ...lines] of [
    ['', rejected.trim()],
    ['', 'slot_id,metric', `${viewed},`],
    ['--map heartbeat=none', 'slot_id,event', `${viewed},heartbeat`],
  ] as const satisfies [string, ...string[]][]) {
    const { code, stdout } = await reconcile(`${flags} -q -o json`, ...lines)
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
  }
})

test('a span without a row of the file, and without a count, is nothing to compare', async () => {
  const [viewed] = await slots()
  for (const span of ['--since 2030-01-01', '--until 2020-01-01']) {
    const { code, stderr } = await reconcile(`${span} -q`, 'slot_id,impressions', `${viewed},5`)
    expect([code, stderr]).toEqual([5, expect.stringContaining('inside the span')])
  }
  const none = await reconcile('--mode live -q', 'slot_id,clicks', `${viewed},0`)
  expect([none.code, none.stderr]).toEqual([5, expect.stringContaining('has no live turn of that time')])
  expect((await reconcile('-q', 'slot_id,clicks', `${viewed},0`)).code).toBe(0)
})

test('agrees with its own exports, and with a difference within the tolerance', async () => {
  for (const format of ['csv', 'tsv', 'jsonl', 'json']) {
    const { stdout } = await cli.svc(`beacons list -o ${format}`)
    const { code, stdout: text } = await cli.svc('beacons reconcile - -q -o json', { stdin: stdout })
    expect({ code, ...JSON.parse(text) }).toMatchObject({ code: 0, ok: true, key: 'slot_id', differences: [] })
  }
  const sessions = ['session,impressions', 's1,1', 's2,2']
  expect((await reconcile('--tolerance 49.9%', ...sessions)).code).toBe(6)
  const { code, stdout } = await reconcile('--tolerance 50% -o json', ...sessions)
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({
    code: 0,
    ok: true,
    key: 'session_id',
    tolerance_percent: 50,
    totals: [{ own: 3, accepted: 2, percent: 50 }],
    causes: [{ cause: 'doubled', is_possible: true, difference: 1 }],
  })
})

test('compares a span, and the traffic of the turns in the file, as the billing report counts it', async () => {
  const { svc } = await startTestCli()
  await svc('placements create --format banner -q')
  await svc('beacons send --event render -q')
  await svc('sandbox clock advance 2h -q')
  await svc('placements create --format banner --secret-key sk_live_sandbox_demo -q')
  const compared = async (flags: string, stdin: string) => {
    const { code, stdout, stderr } = await svc(`beacons reconcile - -o json ${flags}`, { stdin })
    const { mode, causes, totals } = JSON.parse(stdout)
    return [code, mode, totals[0].own, totals[0].accepted, causes[0]?.cause ?? null, stderr.split('\n').at(-2)]
  }
  const { stdout } = await svc('placements list --jq .items[].slot_id')
  const [live, tested] = stdout.trim().split('\n') as [string, string]
  // A live turn without a beacon takes nothing from the test turns of a file.
  expect(await compared('', `slot_id,impressions\n${tested},1\n`)).toEqual([
    ...[0, 'test', 1, 1, null],
    'Only test traffic is compared. Your file names 0 live and 1 test turn of the sandbox. Other traffic: --mode live, test or all',
  ])
  await svc('beacons send --event render --secret-key sk_live_sandbox_demo -q')
  const both = `slot_id,impressions\n${live},1\n${tested},1\n`
  expect((await compared('', both)).slice(0, 5)).toEqual([0, 'all', 2, 2, null])
  expect((await compared('--mode live', both)).slice(0, 5)).toEqual([6, 'live', 2, 1, 'test_traffic'])
  expect((await compared('--mode test', both)).slice(0, 5)).toEqual([6, 'test', 2, 1, 'live_traffic'])
  expect((await compared('--mode test --until 1h', both)).slice(0, 5)).toEqual([0, 'test', 1, 1, null])
  const { stdout: report } = await svc('beacons billing --by day -o json')
  const { groups } = JSON.parse(report) as { groups: { group: string; metric: string; count: number }[] }
  const rows = groups.map(({ group, metric, count }) => `${group},${metric},${count}`)
  expect(groups[0]?.count).toBe(2)
  expect((await compared('', ['day,metric,count', ...rows, ''].join('\n'))).slice(0, 5)).toEqual([0, 'all', 2, 2, null])
})

test('names the lines that cannot be read, and a column that it needs', async () => {
  expect(await reconcile('', 'slot_id,views', 'slot_a,1', 'slot_b,many', ',1')).toEqual({
    code: 2,
    stdout: '',
    stderr: `\
error: own.csv: 2 rows cannot be read:
  line 3: views is many: it must be a whole number from 0, yes or no
  line 4: slot_id is empty: no slot id to count it for
hint: Correct these rows, or leave them out: nothing was compared.
`,
  })
  const { stderr, code } = await reconcile('--map views=clicks', 'slot_id,views', 'a,1')
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean --map views=click?'),
  })
  expect((await cli.svc('beacons reconcile none.csv', { cwd: cli.home })).code).toBe(2)
  expect(await reconcile('', 'day,clicks', '2569-01-31,0')).toEqual({
    code: 2,
    stdout: '',
    stderr: `\
error: own.csv: One row cannot be read:
  line 2: 2569-01-31 is more than 5 years from any turn of the sandbox
hint: Write days of this calendar, such as 2026-01-31, or leave these rows out.
`,
  })
  for (const flag of ['--tolerance 7,9', '--tolerance 7,9%'])
    expect((await reconcile(flag, 'slot_id,views', 'a,1')).stderr).toContain('with a decimal point, such as 7.9%.')
  expect((await reconcile('--tolerance much', 'slot_id,views', 'a,1')).stderr).toContain('It must be a percentage')
})
