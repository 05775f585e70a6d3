import { readdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { openSqliteStore } from '#store/sqlite/index.ts'
import type { PreparedState, Store } from '#store/store.ts'
import { connect } from '#tests/http/call.ts'
import { fill } from '#tests/http/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const event = (at_ms: number) => ({ type: 'job.created' as const, at_ms, project_id: null, slot_id: null, ref: null })

function open(place: string): Store {
  return openSqliteStore({
    ...{ path: place === 'file' ? join(temporaryDirectory(), 'one.db') : ':memory:', pid: process.pid, now_ms: 1 },
    ...{
      journal_limit: 100,
      event_limit: 100,
      sha256Hex: (text) => text,
      report: (error) => expect.fail(String(error)),
    },
    seed: { projects: [], catalogue: { sha256: 'a', demand: '{}' } },
  })
}

async function prepared(store: Store): Promise<PreparedState> {
  const found = await store.prepareSnapshot('kept')
  if (found === 'missing' || found.status === 'refused') throw new Error('the snapshot cannot be restored')
  return found
}

const times = async (store: Store) => (await store.events(0, 100)).map(({ at_ms }) => at_ms)

test.each(['memory', 'file'])(
  'in %s, what is written while a snapshot is prepared is seen until it is restored',
  async (place) => {
    const store = open(place)
    try {
      await store.appendEvent(event(1))
      await store.saveSnapshot('kept', false)
      const preparing = prepared(store)
      await store.appendEvent(event(2))
      const next = await preparing
      await store.appendEvent(event(3))
      expect(await times(store)).toEqual([1, 2, 3])
      await next.replace(9)
      await next.discard()
      expect(await times(store)).toEqual([1, 9])
      const again = await prepared(store)
      await again.discard()
      await store.appendEvent(event(10))
      expect(await times(store)).toEqual([1, 9, 10])
    } finally {
      await store.close()
    }
  },
)

test('in memory, a state that was prepared before a reset replaces nothing, and the reset one is in force', async () => {
  const store = open('memory')
  try {
    await store.appendEvent(event(1))
    await store.saveSnapshot('kept', false)
    const one = await prepared(store)
    await store.reset(5)
    await expect(one.replace(9)).rejects.toThrow('the state was replaced in the meantime')
    await one.discard()
    await store.appendEvent(event(6))
    expect(await times(store)).toEqual([5, 6])
    const next = await prepared(store)
    await next.replace(9)
    expect(await times(store)).toEqual([1, 9])
  } finally {
    await store.close()
  }
})

test('a snapshot that was saved again or deleted since it was prepared is not restored', async () => {
  const store = open('file')
  try {
    await store.saveSnapshot('kept', false)
    const first = await prepared(store)
    await store.appendEvent(event(1))
    await store.saveSnapshot('kept', true)
    await expect(first.replace(9)).rejects.toThrow('the snapshot was replaced in the meantime')
    const second = await prepared(store)
    await store.deleteSnapshot('kept')
    await expect(second.replace(9)).rejects.toThrow('the snapshot was replaced in the meantime')
    expect(await times(store)).toEqual([1])
  } finally {
    await store.close()
  }
})

test('an import whose client has disconnected replaces nothing, and leaves no file', async () => {
  const database = join(temporaryDirectory(), 'one.db')
  await using sandbox = await startSandbox({ database })
  const api = connect(sandbox)
  await fill(api)
  const exported = new Uint8Array(await (await fetch(`${sandbox.url}/_sandbox/export`)).arrayBuffer())
  await fill(api)
  const files = () => readdirSync(`${database}.snapshots`)
  const sending = request(`${sandbox.url}/_sandbox/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/gzip', 'content-length': exported.length },
  })
  sending.on('error', () => {})
  sending.end(exported)
  // It is unpacked, and a thread checks it next.
  await expect.poll(files, { interval: 1 }).toHaveLength(1)
  sending.destroy()
  await expect.poll(files).toEqual([])
  expect((await api.accept('placements.list', {})).body.items).toHaveLength(2)
})
