import { expect, test } from 'vitest'
import { asked, fill, type Stage, stage } from './stage.ts'

/** The number of the first event of a stream that has one. */
async function findFirst(on: Stage, query: string): Promise<number> {
  const response = await fetch(`${on.sandbox.url}/_sandbox/events?${query}`)
  expect(response.status).toBe(200)
  let text = ''
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    const id = /^id: (\d+)$/m.exec(text)
    if (id !== null) return Number(id[1])
  }
  throw new Error('the stream ended without an event')
}

test('a stream starts with the first event since a time or a span', async () => {
  await using on = await stage()
  await fill(on.api)
  const before = (await on.api.accept('sandbox.info')).body.events.size
  on.clock.advance(20 * 60_000)
  const now_ms = on.clock.now()
  await fill(on.api)
  expect(await findFirst(on, 'since=10m')).toBe(before + 1)
  expect(await findFirst(on, `since=${now_ms}`)).toBe(before + 1)
  expect(await findFirst(on, 'since=1h')).toBe(1)
  expect(await findFirst(on, 'since=10m&since_seq=0')).toBe(1)
  const later = findFirst(on, `since=${now_ms + 1}`)
  on.clock.advance(1_000)
  await fill(on.api, { body: asked({ session_id: 'later' }) })
  expect(await later).toBeGreaterThan(before + 1)
})

test('after the clock was moved back, a stream starts by number: it neither repeats nor leaves out', async () => {
  await using on = await stage()
  const size = async () => (await on.api.accept('sandbox.info')).body.events.size
  const start_ms = on.clock.now()
  await on.api.accept('clock.set', { body: { to_ms: start_ms + 3_600_000 } })
  await fill(on.api)
  await on.api.accept('clock.set', { body: { to_ms: start_ms } })
  const before = await size()
  await on.api.accept('clock.advance', { body: { by_ms: 300_000 } })
  await fill(on.api)
  expect(await findFirst(on, 'since=3m')).toBe(before + 1)
  expect(await findFirst(on, 'since=1h')).toBe(1)
})
