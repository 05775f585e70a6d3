/** The tools for coding agents in a sandbox: what they check goes on elsewhere than its event loop. */
import { expect, test } from 'vitest'
import { stage } from '#tests/http/stage.ts'

test('requests go on while a batch of calls checks the largest texts', async () => {
  await using on = await stage()
  const slowest = `{"event":"render",${Array.from({ length: 17_000 }, (_, index) => `"a${index}":1`).join()}}`
  const widest = `[{"event":"render"},${Array(66_000).fill('{}').join()}]`
  const accept = 'application/json, text/event-stream'
  const calls = [slowest, widest, slowest, widest].map((text, id) => ({
    jsonrpc: '2.0',
    method: 'tools/call',
    id,
    params: { name: 'lint_beacons', arguments: { text } },
  }))
  const before = process.threadCpuUsage()
  const { status, body } = await on.api.send('POST', '/_sandbox/mcp', { headers: { accept }, body: calls })
  const { user, system } = process.threadCpuUsage(before)
  expect([status, (body as unknown[]).length]).toEqual([200, 4])
  expect(
    (body as { result: { structuredContent: { result: object } } }[]).map(
      ({ result }) => result.structuredContent.result,
    ),
  ).toEqual(Array(4).fill(expect.objectContaining({ left_off: expect.any(Number) })))
  // The sandbox is in this thread. It used seconds when it checked them itself, and about 40 ms now.
  expect((user + system) / 1000).toBeLessThan(1_000)
})
