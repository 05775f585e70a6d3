/**
 * The tools for coding agents at /_sandbox/mcp: who may use them, by the rules of the control plane, and that the requests
 * of others go on meanwhile.
 */
import { expect, test } from 'vitest'
import { lintOnThread } from '#mcp/lint-thread.ts'
import { stage } from '../stage.ts'

const path = '/_sandbox/mcp'
const accept = 'application/json, text/event-stream'
const message = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } })
const reset = { headers: { accept }, body: message('reset_sandbox') }

test('a program on this computer may use it; a foreign page, a page without a token and another host may not', async () => {
  await using on = await stage()
  await on.api.accept('faults.add', { body: {} })
  const allowed = on.sandbox.projects[0]!.allowed_origins[0]!.replace('*', '3000')
  for (const origin of ['https://evil.example', 'null', allowed]) {
    const response = await on.api.send('POST', path, { ...reset, origin })
    expect([origin, response.status]).toEqual([origin, 403])
    expect(response.headers['access-control-allow-origin']).toBeUndefined()
  }
  const preflight = { origin: 'https://evil.example', headers: { 'access-control-request-method': 'POST' } }
  expect((await on.api.send('OPTIONS', path, preflight)).headers['access-control-allow-origin']).toBeUndefined()
  expect((await on.api.send('POST', path, { ...reset, origin: on.sandbox.url })).status).toBe(403)
  const headers = { accept, 'sec-fetch-site': 'cross-site' }
  expect((await on.api.send('POST', path, { ...reset, headers })).status).toBe(403)
  const rebound = { ...reset, headers: { accept, host: 'rebound.evil.example' } }
  expect((await on.api.send('POST', path, rebound)).status).toBe(421)
  expect((await on.api.accept('faults.list')).body.items).toHaveLength(1)

  expect((await on.api.send('POST', path, reset)).status).toBe(200)
  expect((await on.api.accept('faults.list')).body.items).toHaveLength(0)
  expect((await on.api.send('GET', path)).status).toBe(405)
  const headers_json = { accept, 'content-type': 'application/json' }
  const broken = await fetch(on.sandbox.url + path, { method: 'POST', headers: headers_json, body: '{' })
  expect([broken.status, await broken.json()]).toMatchObject([400, { jsonrpc: '2.0', error: { code: -32700 } }])
})

test('beyond loopback it needs a token, and a token that may only read changes nothing', async () => {
  await using on = await stage({ public_url: 'http://192.168.1.5:4010' })
  expect((await on.api.send('POST', path, reset)).status).toBe(403)
  const admin = { 'x-sandbox-token': on.sandbox.admin_token }
  const created = await on.api.accept('tokens.create', { headers: admin, body: { name: 'reader', role: 'read' } })
  const reader = { accept, 'x-sandbox-token': created.body.token }
  const tried = await on.api.send('POST', path, { ...reset, headers: reader })
  expect(tried.text).toContain('role_missing')
  const placed = { headers: reader, body: message('create_placement') }
  expect((await on.api.send('POST', path, placed)).text).toContain('role_missing')
  const listed = await on.api.send('POST', path, { headers: reader, body: message('list_placements') })
  expect(listed.text).toContain('items')
  expect((await on.api.send('POST', path, { ...reset, headers: { accept, ...admin } })).text).toContain('ok')
})

test('a check that takes too long, or whose caller has left, is ended, and the next one runs', async () => {
  const signal = new AbortController().signal
  const work = { text: '{}', times: { now_ms: 0, sent_at_ms: null } }
  const endless = { ...work, text: '{"a":1}\n'.repeat(1_000_000) }
  await expect(lintOnThread(endless, signal, 50)).rejects.toMatchObject({ code: 'lint_too_long' })
  await expect(lintOnThread(work, AbortSignal.abort())).rejects.toMatchObject({ code: 'lint_too_long' })
  expect((await lintOnThread(work, signal)).findings.map(({ code }) => code)).toContain('schema_invalid')
})
