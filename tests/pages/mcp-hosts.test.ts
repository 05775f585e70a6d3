/** The tool of agents that tries a page under the conditions of hosts. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { connect, mcpHere } from '#tests/cli/mcp-agent.ts'

test('a page without an ad shows and counts nothing', async () => {
  await using sandbox = await startSandbox()
  const { keys } = sandbox
  const env = { SVC_BASE_URL: sandbox.url, SVC_CLIENT_ID: keys.client_id, SVC_SECRET_KEY: keys.secret_key }
  const agent = await connect(mcpHere('', env))
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>No ad.</p>'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const url = `http://localhost:${(server.address() as AddressInfo).port}/`
  expect(await agent.use('hosts', { url, only: ['plain'], for: '1s' })).toMatchObject({
    url,
    ok: false,
    conditions: [{ condition: 'plain', shows: false, why_not: expect.stringContaining('Nothing was seen') }],
  })
  expect(await agent.use('hosts', { only: ['plain'] })).toMatchObject({ ok: true, conditions: [{ shows: true }] })
})
