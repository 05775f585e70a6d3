import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { fill, stage } from './stage.ts'

const seeded = JSON.parse(readFileSync(new URL('../../fixtures/demand.json', import.meta.url), 'utf8'))
const [campaign] = seeded.campaigns

describe('a custom catalogue', () => {
  test('is the only demand', async () => {
    const mine = { ...campaign, campaign_id: 'cmp_mine', sponsor_name: 'Mine & Co', topics: [], price_cpm: 1 }
    await using on = await stage({ demand: { ...seeded, campaigns: [mine] } })
    const { placement } = await fill(on.api)
    expect(placement.sponsor_name).toBe('Mine & Co')
  })

  test('that is invalid is reported with the path of the error, and nothing starts', async () => {
    const free = { ...campaign, price_cpm: 0 }
    await expect(stage({ demand: { ...seeded, campaigns: [free] } })).rejects.toMatchObject({
      code: 'option_invalid',
      message: expect.stringMatching(/^demand\.campaigns\.0\.price_cpm: /),
      hint: 'Give demand the shape of fixtures/demand.json.',
    })
  })
})
