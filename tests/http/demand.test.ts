import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { fill, stage } from './stage.ts'

const seeded = JSON.parse(readFileSync(new URL('../../fixtures/demand.json', import.meta.url), 'utf8'))
const [campaign] = seeded.campaigns

describe("a catalogue of one's own", () => {
  test('is the only demand there is', async () => {
    const mine = { ...campaign, campaign_id: 'cmp_mine', sponsor_name: 'Mine & Co', topics: [], price_cpm: 1 }
    await using on = await stage({ demand: { ...seeded, campaigns: [mine] } })
    const { placement } = await fill(on.api)
    expect(placement.sponsor_name).toBe('Mine & Co')
  })

  test('says where it is wrong, and nothing starts', async () => {
    const free = { ...campaign, price_cpm: 0 }
    await expect(stage({ demand: { ...seeded, campaigns: [free] } })).rejects.toMatchObject({
      code: 'option_invalid',
      message: expect.stringMatching(/^demand\.campaigns\.0\.price_cpm: /),
      hint: 'Give demand the shape of fixtures/demand.json.',
    })
  })
})
