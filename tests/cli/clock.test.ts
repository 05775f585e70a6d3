import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeEach(async () => {
  cli = await startTestCli()
})
afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

test('svc sandbox clock advance makes an asset token expire', async () => {
  await cli.svc('placements create --format banner')
  const clock = await cli.svc('sandbox clock advance 5m')
  expect(clock).toEqual({ code: 0, stdout: 'now    2026-01-31T12:05:00.000Z\nstate  frozen\n', stderr: '' })
  expect((await cli.svc('api render.frame -o none')).code).toBe(0)
  await cli.svc('sandbox clock advance 30m')
  expect((await cli.svc('api render.frame -o none')).code).toBe(0)
  await cli.svc('sandbox clock advance 1ms')
  const late = await cli.svc('beacons send --event render')
  expect(late.code).not.toBe(0)
  expect(late.stderr).toContain('asset_token_expired')
  expect((await cli.svc('api render.frame')).stderr).toContain('responded with 404')
})

test('svc beacons send uses the time of a sandbox whose clock was moved', async () => {
  await cli.svc('sandbox clock advance 7d')
  await cli.svc('placements create --format banner')
  await cli.svc('api render.frame -o none')
  const { code, stdout } = await cli.svc('beacons send --event render')
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('verdict     accepted\n') })
})

test.each([
  ['500ms', '2026-01-31T12:00:00.500Z'],
  ['90s', '2026-01-31T12:01:30.000Z'],
  ['31m', '2026-01-31T12:31:00.000Z'],
  ['2h', '2026-01-31T14:00:00.000Z'],
  ['7d', '2026-02-07T12:00:00.000Z'],
  ['31', '2026-01-31T12:00:00.031Z'],
])('svc sandbox clock advance %s', async (duration, now) => {
  const { stdout } = await cli.svc(`sandbox clock advance ${duration}`)
  expect(stdout).toBe(`now    ${now}\nstate  frozen\n`)
  expect(await cli.svc('sandbox clock show')).toEqual({ code: 0, stdout, stderr: '' })
})

test.each(['31 minutes', '1.5h', '1h30m', '2w', 'soon'])('svc sandbox clock advance %s is refused', async (text) => {
  expect(await cli.svc(`sandbox clock advance '${text}'`)).toEqual({
    code: 2,
    stdout: '',
    stderr: `error: '${text}' is not a duration.\nhint: Write a whole number and its unit: 500ms, 90s, 31m, 2h or 7d. A number alone is milliseconds.\n`,
  })
})

test.each(['-5m', '-- -5m'])('svc sandbox clock advance %s names the command that moves it back', async (words) => {
  const { code, stderr } = await cli.svc(`sandbox clock advance ${words}`)
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(
      /^error: .*'-5m'.*\nhint: Advancing moves the clock only forward. To move it back: svc sandbox clock set TIME\n$/,
    ),
  })
})

test.each([
  ['2027-01-01T00:00:00Z', '2027-01-01T00:00:00.000Z'],
  ['2027-01-01T01:30:00+01:30', '2027-01-01T00:00:00.000Z'],
  ['2027-01-01t00:00:00z', '2027-01-01T00:00:00.000Z'],
  ['2020-02-29', '2020-02-29T00:00:00.000Z'],
  ['1800000000000', '2027-01-15T08:00:00.000Z'],
])('svc sandbox clock set %s, forth or back', async (instant, now) => {
  expect((await cli.svc(`sandbox clock set ${instant}`)).stdout).toBe(`now    ${now}\nstate  frozen\n`)
})

test.each(['2027-01-01T00:00:00', '2027-02-30T00:00:00Z', '1969-12-31', 'tomorrow', '1800'])(
  'svc sandbox clock set %s is refused',
  async (text) => {
    const { code, stdout, stderr } = await cli.svc(`sandbox clock set ${text}`)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`error: '${text}' is not a time since 1970.\nhint: Write a day or a time with its zone`)
  },
)

test('svc sandbox clock resume, freeze and set now: the clock follows real time, or stands still', async () => {
  await cli.svc('sandbox clock resume')
  await cli.svc('sandbox clock set now')
  const state = (stdout: string) => stdout.split('\n').slice(1)
  expect(state((await cli.svc('sandbox clock show')).stdout)).toEqual(['state   running', 'offset  none', ''])
  const ahead = await cli.svc('sandbox clock advance 150m')
  expect(state(ahead.stdout)).toEqual(['state   running', 'offset  2h 30m ahead of real time', ''])
  const shown = JSON.parse((await cli.svc('sandbox clock show -o json')).stdout)
  expect(shown).toMatchObject({ offset_ms: 9_000_000, frozen: false })
  expect(state((await cli.svc('sandbox clock freeze')).stdout)).toEqual(['state  frozen', ''])
})

test('svc sandbox clock lists its verbs', async () => {
  const { code, stderr } = await cli.svc('sandbox clock')
  expect(code).toBe(2)
  for (const verb of ['show', 'advance', 'set', 'freeze', 'resume'])
    expect(stderr).toMatch(new RegExp(`^  ${verb} `, 'm'))
  expect(stderr).toContain('Examples:\n  svc sandbox clock show\n  svc sandbox clock advance 31m\n')
})
