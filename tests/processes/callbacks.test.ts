/** Callbacks of a sandbox that is killed before it has delivered them. */
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import type { CallbackItem } from '#contract/resources/callbacks.ts'
import { isRunning } from '#tests/cli/npm-start.ts'
import { spawnSvc } from '#tests/cli/process.ts'
import { svc } from '#tests/cli/test-cli.ts'
import { receiver } from '#tests/http/receiver.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const key = 'sk_test_sandbox_demo'

test('a kill loses what was not delivered: it says so, and resend sends it with the key in use', async () => {
  const home = temporaryDirectory()
  const env = { SVC_HOME: home }
  const real = { isRunning }
  await using program = await receiver()
  const flags = ['--port', '0', '--db', `${home}/sandbox.db`, '--decision-latency', '1500']
  const first = spawnSvc(['start', ...flags, '-o', 'json'], env)
  await first.firstLine
  await svc(`api jobs.create --callback-url ${program.url} -q`, { env, system: real })
  first.child.kill('SIGKILL')
  await first.ended
  const second = spawnSvc(['start', ...flags, '-o', 'json'], env)
  await second.firstLine
  const list = async () =>
    (
      JSON.parse((await svc('sandbox callbacks list -o json', { env, system: real })).stdout) as {
        items: CallbackItem[]
      }
    ).items
  expect(await list()).toMatchObject([{ status: 'key_lost', attempts: 0 }])
  await expect.poll(async () => (await svc('sandbox callbacks resend', { env, system: real })).code).toBe(0)
  expect(await list()).toMatchObject([{ status: 'delivered', attempts: 1 }])
  const [sent] = program.received
  expect(sent!.headers['x-csl-signature']).toBe(`sha256=${createHmac('sha256', key).update(sent!.body).digest('hex')}`)
  expect(program.received).toHaveLength(1)
  second.child.kill('SIGTERM')
  await second.ended
})
