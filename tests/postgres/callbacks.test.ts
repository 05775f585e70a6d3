/** A callback whose node is killed after its request was sent, and before the outcome is stored. */
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { spawnSvc } from '#tests/cli/process.ts'
import { connect } from '#tests/http/call.ts'
import { receiver } from '#tests/http/receiver.ts'
import { asked, key } from '#tests/http/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { serverVariable } from './shared-store.ts'

const store = process.env[serverVariable] ?? ''

test('a callback whose node dies between sending and storing is sent again by another, with the same slot_id', async () => {
  const namespace = randomBytes(8).toString('hex')
  await using other = await startSandbox({ store, namespace, demands_token: false })
  const api = connect(other)
  await using seen = await receiver()
  // This node has the key too, without which it could not sign.
  await api.accept('jobs.create', { as: key, body: asked({ callback_url: seen.url }) })
  await expect.poll(() => seen.received.length).toBe(1)

  const env = { SVC_HOME: temporaryDirectory(), SVC_STORE: store, SVC_NAMESPACE: namespace }
  const doomed = spawnSvc(['start', '--port', '0', '-o', 'json'], env)
  const { url } = JSON.parse(await doomed.firstLine) as { url: string }
  const received: { body: string; signature: unknown }[] = []
  const created = Promise.withResolvers<void>()
  const hook = createServer(async (incoming, outgoing) => {
    received.push({ body: await text(incoming), signature: incoming.headers['x-csl-signature'] })
    if (received.length > 1) return void outgoing.end()
    await created.promise
    doomed.child.kill('SIGKILL')
  })
  hook.listen(0, '127.0.0.1')
  await once(hook, 'listening')
  const client = new pg.Client({ connectionString: store, options: `-c search_path="svc_${namespace}"` })
  await client.connect()
  try {
    const callback_url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`
    const { slot_ids } = (await connect({ url }).accept('jobs.create', { as: key, body: asked({ callback_url }) })).body
    created.resolve()
    await doomed.ended
    expect(received).toHaveLength(1)
    const callback = async () =>
      (await api.accept('callbacks.list', { query: { slot_id: slot_ids[0]! } })).body.items[0]
    expect(await callback()).toMatchObject({ status: 'waiting', attempts: 0 })
    // The attempt belongs to the dead node for half a minute, which has passed.
    const { rowCount } = await client.query(
      'UPDATE callback_claim SET claimed_until = now() WHERE claimed_until > now()',
    )
    expect(rowCount).toBeGreaterThan(0)
    await expect.poll(async () => (await callback())?.status).toBe('delivered')
    expect(await callback()).toMatchObject({ attempts: 1, http_status: 200 })
    expect(received).toHaveLength(2)
    // The address of the asset is that of the node.
    const [first, again] = received.map(({ body }) => body)
    expect(again).toBe(first!.replaceAll(url, other.url))
    expect(received.map(({ signature }) => signature)).toEqual(
      received.map(({ body }) => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`),
    )
    expect((JSON.parse(again!) as { slot_id: string }).slot_id).toBe(slot_ids[0])
  } finally {
    doomed.child.kill('SIGKILL')
    await client.end()
    hook.closeAllConnections()
    hook.close()
  }
})
