/** A busy event stream: nothing is missed, nothing piles up. */
import { request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'

test('four thousand events reach a slow reader in order, and leave no listener behind', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  await using sandbox = await startSandbox({ rate_limit: 'off' })
  const body = JSON.stringify({ client_id: 'proj_demo', session_id: 'stream', job_type: 'chat', slots_requested: 4 })
  const headers = { authorization: `Bearer ${sandbox.keys.secret_key}`, 'content-type': 'application/json' }
  for (let turn = 0; turn < 100; turn++) {
    const replies = Array.from({ length: 10 }, () =>
      request(`${sandbox.url}/v1/placements`, { method: 'POST', headers, body }),
    )
    for (const reply of await Promise.all(replies)) await reply.body.dump()
  }
  const stream = await request(`${sandbox.url}/_sandbox/events?since_seq=0`)
  let text = ''
  let pieces = 0
  for await (const piece of stream.body) {
    text += String(piece)
    if (++pieces % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    if (text.includes('\nid: 4000\n')) break
  }
  const seen = [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))
  expect(seen).toEqual(Array.from({ length: 4_000 }, (_, index) => index + 1))
  expect(warnings.map(String)).toEqual([])
})
