import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { asked, fill, stage } from './stage.ts'

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

/** Writes a file of demand with a picture and a clip, and returns its path. */
function writeDemand(price_cpm: number): string {
  const folder = temporaryDirectory()
  const own = { 'tea.png': 'banner-300x250.png', 'tea.mp4': 'clip-640x360-6s.mp4' }
  for (const [name, from] of Object.entries(own))
    copyFileSync(new URL(`../../fixtures/test-assets/${from}`, import.meta.url), join(folder, name))
  const lines = [
    'campaigns:',
    '  - sponsor_name: Fernhill Tea',
    '    click_url: https://fernhill.example/tea',
    `    price_cpm: ${price_cpm}`,
    '    topics: [coffee]',
    '    creatives: [{ file: tea.png }, { file: tea.mp4 }]',
  ]
  writeFileSync(join(folder, 'demand.yaml'), lines.join('\n'))
  return join(folder, 'demand.yaml')
}

const coffee = asked({ prompt: { topic: 'coffee' }, consent: { semantic_targeting: true } })

describe('a file of demand', () => {
  test.each([
    ['banner', 'tea.png'],
    ['clip', 'tea.mp4'],
  ] as const)('wins for its topic, and its own %s is shown, in test mode too', async (format, name) => {
    const file = writeDemand(40)
    await using on = await stage({ demand: file })
    const { placement, decision } = await fill(on.api, { format, body: coffee })
    expect(placement.sponsor_name).toBe('Fernhill Tea')
    const served = await fetch(placement.image_url ?? placement.video_url!)
    expect(served.headers.get('content-type')).toBe(decision.mime_type)
    expect(served.headers.get('x-content-type-options')).toBe('nosniff')
    expect(served.headers.get('content-security-policy')).toMatch(/sandbox$/)
    expect(Buffer.from(await served.arrayBuffer())).toEqual(readFileSync(join(dirname(file), name)))
  })

  test('is beside the seeded campaigns, or alone with only', async () => {
    const demand = writeDemand(0.01)
    await using beside = await stage({ demand })
    expect((await fill(beside.api, { body: coffee })).placement.sponsor_name).not.toBe('Fernhill Tea')
    await using alone = await stage({ demand, only: true })
    expect((await fill(alone.api, { body: coffee })).placement.sponsor_name).toBe('Fernhill Tea')
  })

  test('that is wrong starts nothing, and says where', async () => {
    await expect(stage({ demand: writeDemand(-1) })).rejects.toMatchObject({
      code: 'demand_invalid',
      message: expect.stringMatching(/demand\.yaml:4:16: campaigns\.0\.price_cpm must be more than 0\./),
    })
  })

  test('with strict, test traffic gets the substitutes of the document', async () => {
    await using on = await stage({ demand: writeDemand(40), strict: true })
    const { placement } = await fill(on.api, { format: 'banner', body: coffee })
    expect(placement.image_url).toContain('/v1/test-assets/banner')
  })
})
