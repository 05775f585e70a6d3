/** The rate of the start, and what takes nothing from a limit. The limits themselves are in the shipped suite `rates`. */
import { describe, expect, test } from 'vitest'
import { asked, key, origin, publishable, stage } from './stage.ts'

describe('the limits of a key', () => {
  test('are not drawn by what is refused before them', async () => {
    await using on = await stage({ rate_limit: '1/min' })
    for (const call of [{}, { as: 'sk_test_nobody' }, { as: publishable }, { as: key, origin }]) {
      await on.api.refuse('placements.create', { ...call, body: asked() })
    }
    await on.api.accept('placements.create', { as: key, body: asked() })
    const body = { publishable_key: publishable }
    for (const from of [{}, { origin: 'https://evil.example' }]) {
      await on.api.refuse('browser.activate', { ...from, body })
    }
    await on.api.accept('browser.activate', { origin, body })
  })
})

describe('settings', () => {
  test('the rate of the start wins for every class; off means off', async () => {
    await using on = await stage({ rate_limit: 'off' })
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => on.api.send('GET', '/v1/projects/proj_demo/config', { as: key })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  })

  test.each([
    ['1000/s', { rate_limits: { default: '1/s' } }, 'rate_limit_overridden'],
    ['1000/s', { label_text: 'Ad' }, undefined],
    [undefined, { rate_limits: { default: '1000/s' } }, undefined],
  ])('of a start at %s, a project set to %j warns of %s', async (rate_limit, body, warning) => {
    await using on = await stage(rate_limit === undefined ? {} : { rate_limit })
    const params = { client_id: 'proj_demo' }
    const created = await on.api.accept('projects.create', { body: { client_id: 'proj_new', ...body } })
    const updated = await on.api.accept('projects.update', { params, body })
    for (const { headers } of [created, updated]) expect(headers['x-sandbox-warning']).toBe(warning)
  })

  test('a rate that cannot be read does not start', async () => {
    await expect(stage({ rate_limit: 'fast' })).rejects.toMatchObject({ code: 'option_invalid' })
  })
})
