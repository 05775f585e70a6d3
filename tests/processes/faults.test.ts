/** Requests that reach a sandbox at once, as only those of another process do. */
import { expect, onTestFinished, test } from 'vitest'
import { spawnSvc } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test('rules added at the same time each return their own id', async () => {
  // A process and a file of its own: what is sent from this one would arrive one by one, and be kept at once.
  const { child, firstLine, ended } = spawnSvc(['start', '--port', '0', '-o', 'json'], {
    SVC_HOME: temporaryDirectory(),
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const { url } = JSON.parse(await firstLine) as { url: string }
  const paths = Array.from({ length: 50 }, (_, index) => `/v1/none-${index}`)
  const rules = await Promise.all(
    paths.map(async (path) => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${url}/_sandbox/faults`, { method: 'POST', headers, body: JSON.stringify({ path }) })
      return (await answer.json()) as { path: string; fault_id: string }
    }),
  )
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
  expect(rules.map(({ path }) => path)).toEqual(paths)
  expect(new Set(rules.map(({ fault_id }) => fault_id)).size).toBe(paths.length)
})
