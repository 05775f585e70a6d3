import { expect, test } from 'vitest'
import { startTestCli } from './test-cli.ts'

test('scenario use says what to do and to expect, and placements follow it; clear ends it', async () => {
  await using cli = await startTestCli()
  const used = await cli.svc('sandbox scenario use no_fill_timeout')
  expect({ code: used.code, stdout: used.stdout }).toEqual({
    code: 0,
    stdout: `\
no_fill_timeout: Partners are too late.
A partner that misses the window.

Do
  Request a placement with a test key: svc placements create.
  Read why: svc explain.

Expect
  200, decision.no_fill_reason timeout.
  The next turn asks again; nothing is retried at once.
`,
  })
  expect((await cli.svc('placements create')).stdout).toContain('timeout')
  expect((await cli.svc('explain')).stdout).toContain('Its offer came too late')
  expect((await cli.svc('sandbox scenario use none')).stdout).toBe('no_fill_timeout is no longer active.\n')
  expect((await cli.svc('sandbox scenario use none')).stdout).toBe('No scenario was active.\n')
  expect((await cli.svc('placements create')).stdout).toContain('ready, fill')
})

test('scenario list shows the catalogue; an unknown name is an error of the API', async () => {
  await using cli = await startTestCli()
  const { stdout } = await cli.svc('sandbox scenario list')
  expect(stdout.split('\n').length).toBeGreaterThan(30)
  expect(stdout).toMatch(/^rate_limited_http_date +Over the rate limit, with a date +no$/m)
  const { code, stderr } = await cli.svc('sandbox scenario use nothing')
  expect(code).toBe(3)
  expect(stderr).toContain('svc sandbox scenario list')
})
