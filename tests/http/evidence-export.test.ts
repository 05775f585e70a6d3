import { createPublicKey, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { checkpointText, type EvidenceExport, manifestText } from '#contract/resources/evidence.ts'
import { manualClock } from '#sandbox/index.ts'
import { asked, beacon, edit, fill, folder, key, otherKey, type Stage, stage } from './stage.ts'

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

test('a manifest signs how far each chain goes, of every project or of one, at one time', async () => {
  await using on = await stage()
  await live(on)
  for (const query of [{}, { client_id: 'proj_other' }]) {
    const { checkpoints, manifest } = (await on.api.accept('evidence.manifest', { query })).body
    const expected = [
      ['proj_demo', 2],
      ['proj_other', 1],
      ['proj_strict', 0],
    ].filter(([client_id]) => [undefined, client_id].includes(query.client_id))
    expect(manifest.chains.map(({ client_id, entries }) => [client_id, entries])).toEqual(expected)
    expect([manifest.client_id, manifest.at_ms]).toEqual([query.client_id ?? null, on.clock.now()])
    expect(checkpoints.map(({ client_id, entries, head }) => ({ client_id, entries, head }))).toEqual(manifest.chains)
    expect(new Set(checkpoints.map(({ at_ms }) => at_ms))).toEqual(new Set([manifest.at_ms]))
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: manifest.public_key }, format: 'jwk' })
    const holds = (text: string) => verify(null, Buffer.from(text), key, Buffer.from(manifest.signature, 'base64url'))
    expect(holds(manifestText(manifest))).toBe(true)
    expect(holds(manifestText({ ...manifest, chains: manifest.chains.slice(1) }))).toBe(false)
  }
  const nobody = { query: { client_id: 'proj_nobody' } }
  expect((await on.api.refuse('evidence.manifest', nobody)).status).toBe(404)
})

test('a checkpoint covers the whole chain, wherever the export begins', async () => {
  await using on = await stage()
  await live(on)
  for (const after_seq of [1, 2, 99]) {
    const { body } = await on.api.accept('evidence.export', { params, query: { after_seq } })
    expect([after_seq, body.checkpoint]).toMatchObject([after_seq, { entries: 2 }])
  }
})

test('a broken chain is not signed, and its entries can be read', async () => {
  using dir = folder()
  const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
  {
    await using on = await stage(options)
    await live(on)
  }
  edit(options.database, (db) => void db.exec('UPDATE evidence SET at_ms = at_ms + 1 WHERE project_id = 1 AND seq = 2'))
  await using on = await stage(options)
  const refused = [
    await on.api.refuse('evidence.manifest'),
    await on.api.refuse('evidence.manifest', { query: params }),
    await on.api.refuse('evidence.export', { params }),
  ]
  for (const { body } of refused) {
    expect(body).toMatchObject({
      reason_code: 'evidence_broken',
      message: expect.stringMatching(/proj_demo is not signed\. Entry 2 states another at_ms/),
    })
  }
  const { entries, checkpoint } = (await on.api.accept('evidence.export', { params, query: { checkpoint: 'false' } }))
    .body
  expect([entries.length, checkpoint]).toEqual([2, null])
  await on.api.accept('evidence.manifest', { query: { client_id: 'proj_other' } })
})
