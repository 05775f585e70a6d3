/** Long work on a large state leaves other requests their turn: they are answered while it runs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { manualClock, type Sandbox } from '#sandbox/index.ts'
import { activate, beacon, fill, folder, origin, stage } from '#tests/http/stage.ts'
import { addBeacons, addPending } from '#tests/reliability/large-state.ts'

const clock = () => manualClock(Date.UTC(2026, 5, 1))

test('verifying and checking', async () => {
  using place = folder()
  await using on = await stage({ database: await largeState(place.path, 3_000), clock: clock() })
  const verified = await whileAnswering(on.sandbox, () => on.api.accept('evidence.verify'))
  expect(verified.result.body).toMatchObject({ ok: true, chains: [{ entries: 3_002 }, {}, {}] })
  expect(verified.answered).toBeGreaterThan(5)
  const checked = await whileAnswering(on.sandbox, () => on.api.accept('sandbox.integrity'))
  expect(checked.result.body).toMatchObject({ ok: true })
  expect(checked.answered).toBeGreaterThan(5)
})

test('verifying an import', async () => {
  using place = folder()
  const database = await largeState(place.path, 3_000)
  await using on = await stage()
  const imported = await whileAnswering(on.sandbox, () =>
    fetch(new URL('/_sandbox/import', on.sandbox.url), {
      method: 'POST',
      headers: { 'content-type': 'application/gzip' },
      body: gzipSync(readFileSync(database)),
    }),
  )
  expect([imported.result.status, await imported.result.json()]).toMatchObject([200, { evidence_entries: 3_002 }])
  expect(imported.answered).toBeGreaterThan(5)
})

test('deciding what the clock has made due', async () => {
  using place = folder()
  const database = await largeState(place.path, 10)
  const at = clock()
  addPending(database, 1_000, at.now() + 60_000)
  await using on = await stage({ database, clock: at })
  const moved = await whileAnswering(on.sandbox, () => on.api.accept('clock.advance', { body: { by_ms: 120_000 } }))
  expect(moved.answered).toBeGreaterThan(5)
  const { body } = await on.api.accept('placements.list', { query: { limit: 100 } })
  expect(body.items.filter(({ status }) => status === 'pending')).toEqual([])
  expect(body.items).toHaveLength(100)
})

/** Returns the file of a stopped sandbox with one placement, its beacon, and `beacons` more. */
async function largeState(directory: string, beacons: number): Promise<string> {
  const database = join(directory, 'sandbox.db')
  {
    await using on = await stage({ database, clock: clock() })
    const filled = await fill(on.api)
    await on.api.accept('beacons.send', {
      as: await activate(on.api),
      origin,
      body: beacon(on.clock, filled, 'render'),
    })
  }
  addBeacons(database, beacons)
  return database
}

/** Runs `work`, and counts the requests that are answered one after the other until it is done. */
async function whileAnswering<Result>(sandbox: Sandbox, work: () => Promise<Result>) {
  let answered = 0
  let isDone = false
  const working = work().finally(() => {
    isDone = true
  })
  while (!isDone) {
    expect((await fetch(new URL('/_sandbox/livez', sandbox.url))).status).toBe(200)
    if (!isDone) answered++
  }
  return { result: await working, answered }
}
