/** Many followers of events: what is read and serialized is shared, and one that does not read holds up no other. */
import { get, type IncomingMessage } from 'node:http'
import Database from 'better-sqlite3'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { asked, fill, key, type Stage, stage } from './stage.ts'

interface Follower {
  text: string
  response: IncomingMessage
}

test('fifty followers with the same filter cost one read and get the same bytes; another filter costs one more', async () => {
  const reads = countReads()
  await using on = await stage()
  const all = await Promise.all(Array.from({ length: 50 }, () => follow(on)))
  const others = await Promise.all(Array.from({ length: 5 }, () => follow(on, '?type=beacon.*')))
  await fill(on.api)
  await expect.poll(() => all.every(({ text }) => text.includes('event: placement.decided'))).toBe(true)
  expect(new Set(all.map(({ text }) => text)).size).toBe(1)
  expect(others.map(({ text }) => text)).toEqual(Array(5).fill(': connected\n\n'))
  expect(reads.count).toBeGreaterThan(0)
  expect(reads.count).toBeLessThan(6)
})

test('an event is serialized once for followers of every filter', async () => {
  await using on = await stage()
  const filters = Array.from({ length: 20 }, (_, count) => `?type=placement.*${',beacon.*'.repeat(count)}`)
  const all = await Promise.all(filters.map((filter) => follow(on, filter)))
  const { stringify } = JSON
  let serialized = 0
  JSON.stringify = ((...values: unknown[]) => {
    const [value] = values as [{ seq?: number; type?: string } | null]
    if (value?.seq !== undefined && value.type === 'placement.decided') serialized++
    return Reflect.apply(stringify, JSON, values)
  }) as typeof stringify
  onTestFinished(() => {
    JSON.stringify = stringify
  })
  await fill(on.api)
  await expect.poll(() => all.every(({ text }) => text.includes('event: placement.decided'))).toBe(true)
  expect(new Set(all.map(({ text }) => text)).size).toBe(1)
  // What is shared is shared for half a second: on a busy host some may come later.
  expect(serialized).toBeGreaterThan(0)
  expect(serialized).toBeLessThan(filters.length / 2)
})

test('a follower that does not read holds up no other, and gets every event once when it reads again', async () => {
  await using on = await stage({ rate_limit: 'off' })
  const stalled = await follow(on)
  stalled.response.pause()
  const others = await Promise.all(Array.from({ length: 20 }, () => follow(on)))
  const slots = 400
  for (let slot = 0; slot < slots; slot += 4) {
    await on.api.accept('placements.create', { as: key, body: asked({ slots_requested: 4 }) })
  }
  const expected = Array.from({ length: slots }, (_, index) => index + 1)
  for (const other of others) await expect.poll(() => listNumbers(other)).toEqual(expected)
  expect(listNumbers(stalled).length).toBeLessThan(slots)
  stalled.response.resume()
  await expect.poll(() => listNumbers(stalled)).toEqual(expected)
})

test('followers that begin at different events each get the rest of them', async () => {
  await using on = await stage({ rate_limit: 'off' })
  for (let turn = 0; turn < 60; turn++) {
    await on.api.accept('placements.create', { as: key, body: asked({ slots_requested: 4 }) })
  }
  for (const since of [0, 1, 99, 100, 101, 199, 239]) {
    const follower = await follow(on, `?since_seq=${since}`)
    const expected = Array.from({ length: 240 - since }, (_, index) => since + index + 1)
    await expect.poll(() => listNumbers(follower), { message: `since ${since}` }).toEqual(expected)
  }
})

/** Counts how often events are read from the database. */
function countReads(): { count: number } {
  const reads = { count: 0 }
  const { prepare } = Database.prototype
  const { query } = pg.Client.prototype
  onTestFinished(() => {
    Database.prototype.prepare = prepare
    pg.Client.prototype.query = query
  })
  pg.Client.prototype.query = function (this: pg.Client, ...values: unknown[]) {
    const [{ text }] = values as [{ text?: string }]
    if (/FROM event WHERE seq > \$1 AND/.test(text ?? '')) reads.count++
    return Reflect.apply(query, this, values)
  } as typeof query
  Database.prototype.prepare = function (this: Database.Database, sql: string) {
    const statement = prepare.call(this, sql)
    if (!/FROM event WHERE seq > \?/.test(sql)) return statement
    const { all } = statement
    statement.all = (...values: unknown[]) => {
      reads.count++
      return Reflect.apply(all, statement, values)
    }
    return statement
  } as typeof prepare
  return reads
}

/** Resolves when the stream is connected. */
function follow(on: Stage, query = ''): Promise<Follower> {
  return new Promise((resolve, reject) => {
    const request = get(`${on.sandbox.url}/_sandbox/events${query}`, { agent: false }, (response) => {
      const follower = { text: '', response }
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        follower.text += text
        resolve(follower)
      })
    })
    request.on('error', reject)
    onTestFinished(() => void request.destroy())
  })
}

function listNumbers({ text }: Follower): number[] {
  return [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))
}
