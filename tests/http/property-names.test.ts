/**
 * Names that every object has, wherever a client can send a name: each gets a sane response and its row in the journal. What
 * they could reach is closed by a rule of tests/architecture. `tests/matrices/property-names.test.ts` sends all.
 */
import { expect, test } from 'vitest'
import { isControlPlane } from '#contract/endpoint.ts'
import {
  endpoints,
  expectAnswers,
  nameFields,
  nameHeaders,
  nameParameters,
  names,
} from '#tests/reliability/property-names.ts'
import { beacon, fill, key, stage } from './stage.ts'

test('names of all objects get responses and rows of the journal: a sample of the whole matrix', async () => {
  const all = names.flatMap((name) => [...nameParameters(name), ...nameFields(name), ...nameHeaders(name)])
  const sample = all.filter((_, index) => index % 17 === 0)
  expect(sample.length).toBeGreaterThan(100)
  await expectAnswers(sample)
})

test('names of all objects in valid bodies are kept like any other, but for __proto__, which is refused', async () => {
  await using on = await stage()
  const filled = await fill(on.api)
  for (const name of names) {
    const event = beacon(on.clock, filled, 'heartbeat')
    const raw = `${JSON.stringify(event).slice(0, -1)},"metadata":{"${name}":{"${name}":1}}}`
    const { status, text } = await on.api.send('POST', '/v1/beacons', { as: key, raw })
    expect(status, text).toBe(name === '__proto__' ? 400 : 200)
    const listed = await on.api.send('GET', `/_sandbox/beacons?beacon_id=${String(event.beacon_id)}`)
    if (name !== '__proto__') expect(listed.text).toContain(`"metadata":{"${name}":{"${name}":1}}`)
  }
  expect(endpoints.filter(isControlPlane).length).toBeLessThan(endpoints.length)
})
