import { createPublicKey, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { manualClock } from '../../sandbox/index.ts'
import { checkpointText, type EvidenceExport } from '../../src/contract/resources/evidence.ts'
import { asked, beacon, fill, folder, key, otherKey, type Stage, stage } from './stage.ts'

const params = { client_id: 'proj_demo' }

/** Two entries of proj_demo about one slot, one of proj_other. */
async function live(on: Stage) {
  const filled = await fill(on.api)
  on.clock.advance(60_000)
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
  await fill(on.api, { as: otherKey, body: asked({ client_id: 'proj_other' }) })
  return filled
}

test('entries are listed newest first, by project, slot, kind and time, in pages', async () => {
  await using on = await stage()
  const { slot_id, asset_token } = await live(on)
  const list = async (query: Record<string, string | number>) => {
    const { body, text } = await on.api.accept('evidence.list', { query })
    expect(text).not.toContain(asset_token)
    return body.items.map(({ client_id, seq, kind }) => `${client_id.slice(5)} ${seq} ${kind}`)
  }
  const all = ['other 1 decision', 'demo 2 beacon', 'demo 1 decision']
  expect(await list({})).toEqual(all)
  expect(await list({ client_id: 'proj_demo' })).toEqual(all.slice(1))
  expect(await list({ slot_id })).toEqual(all.slice(1))
  expect(await list({ kind: 'beacon' })).toEqual(['demo 2 beacon'])
  expect(await list({ since: '30s' })).toEqual(all.slice(0, 2))
  expect(await list({ slot_id: 'slot_00000000000' })).toEqual([])
  const first = await on.api.accept('evidence.list', { query: { limit: 2 } })
  expect(await list({ limit: 2, cursor: first.body.next_cursor! })).toEqual(all.slice(2))
})

test('an export comes in parts, oldest first, and ends with a signed checkpoint', async () => {
  await using on = await stage()
  await live(on)
  const whole = (await on.api.accept('evidence.export', { params })).body
  expect(whole.entries.map(({ seq }) => seq)).toEqual([1, 2])
  expect(whole).toMatchObject({
    next_seq: null,
    checkpoint: { client_id: 'proj_demo', entries: 2, head: whole.entries[1]!.hash, at_ms: on.clock.now() },
  })
  const pieces = []
  for (let after_seq: number | null = 0; after_seq !== null; ) {
    const { body }: { body: EvidenceExport } = await on.api.accept('evidence.export', {
      params,
      query: { after_seq, limit: 1 },
    })
    pieces.push(body)
    after_seq = body.next_seq
  }
  expect(pieces.flatMap(({ entries }) => entries)).toEqual(whole.entries)
  expect(pieces.map(({ checkpoint }) => checkpoint)).toEqual([null, null, whole.checkpoint])
  const empty = await on.api.accept('evidence.export', { params: { client_id: 'proj_strict' } })
  expect(empty.body).toMatchObject({ entries: [], checkpoint: { entries: 0, head: null } })
  const nobody = { params: { client_id: 'proj_nobody' } }
  expect((await on.api.refuse('evidence.export', nobody)).status).toBe(404)
})

test('a checkpoint is signed by the key of the install, the same after a restart', async () => {
  using dir = folder()
  const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
  const keys = new Set<string>()
  for (let start = 0; start < 2; start++) {
    await using on = await stage(options)
    await live(on)
    const checkpoint = (await on.api.accept('evidence.export', { params })).body.checkpoint!
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: checkpoint.public_key }
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
    const signature = Buffer.from(checkpoint.signature, 'base64url')
    const isSigned = (facts: typeof checkpoint) =>
      verify(null, Buffer.from(checkpointText(facts)), publicKey, signature)
    expect(isSigned(checkpoint)).toBe(true)
    expect(isSigned({ ...checkpoint, entries: checkpoint.entries - 1 })).toBe(false)
    keys.add(checkpoint.public_key)
  }
  await using elsewhere = await stage()
  keys.add((await elsewhere.api.accept('evidence.export', { params })).body.checkpoint!.public_key)
  expect(keys.size).toBe(2)
})
