/** What only a test sees of placements: caps under pressure of time and of others, and that a seed decides everything. */
import { expect, test } from 'vitest'
import { formats } from '#contract/fields.ts'
import { asked, key, stage } from './stage.ts'

test('prompts between two fills are counted alike when decisions take their time, and the slots of a job are one', async () => {
  for (const decision_latency_ms of [0, 1_000]) {
    await using on = await stage({ decision_latency_ms })
    const slots: string[] = []
    for (let prompt = 0; prompt < 4; prompt++) {
      const overrides = { frequency_cap: { prompt_interval: 2 } }
      const body = asked({ slots_requested: prompt === 0 ? 2 : 1, overrides })
      slots.push(...(await on.api.accept('jobs.create', { as: key, body })).body.slot_ids)
    }
    on.clock.advance(decision_latency_ms)
    const fills = []
    for (const slot_id of slots) {
      const call = { as: key, params: { slot_id }, query: { wait_ms: 1_000 } }
      fills.push((await on.api.accept('decisions.get', call)).body.decision?.fill)
    }
    expect([decision_latency_ms, fills]).toEqual([decision_latency_ms, [true, true, false, false, true]])
  }
})

test('the same seed gives the same response, byte by byte except for the address', async () => {
  const run = async (seed: number) => {
    await using on = await stage({ seed })
    const responses = []
    for (const format of formats) {
      const body = asked({ overrides: { allowed_formats: [format] } })
      responses.push((await on.api.accept('placements.create', { as: key, body })).text)
    }
    return responses.join('\n').replaceAll(on.sandbox.url, '')
  }
  expect(await run(7)).toBe(await run(7))
  expect(await run(7)).not.toBe(await run(8))
})

test('a session cap of one gives one fill to any number of parallel requests', async () => {
  await using on = await stage()
  const body = asked({ overrides: { frequency_cap: { session: 1 } } })
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => on.api.accept('placements.create', { as: key, body })),
  )
  expect(responses.filter(({ body: { decision } }) => decision?.fill)).toHaveLength(1)
})
