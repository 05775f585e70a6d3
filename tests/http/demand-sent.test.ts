/** Files of demand that are sent to a running sandbox: checked as on disk, and put in force with nothing wrong. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { asked, fill, folder, key, type Stage, stage } from './stage.ts'

const png = readFileSync(new URL('../../fixtures/test-assets/banner-300x250.png', import.meta.url))
const encode = (content: string | Uint8Array) => Buffer.from(content).toString('base64')
const yaml = (fields = 'price_cpm: 90', file = 'tea.png') => `campaigns:
  - sponsor_name: Fernhill Tea
    click_url: https://fernhill.example/tea
    ${fields}
    creatives: [{ file: ${file} }]
`

function send(on: Stage, contents: Record<string, string | Uint8Array>, more: object = {}) {
  const files = Object.entries(contents).map(([name, content]) => ({ name, base64: encode(content) }))
  return on.api.accept('demand.replace', { body: { files, ...more } })
}

const sponsorNow = async (on: Stage) => (await fill(on.api, { format: 'banner' })).placement.sponsor_name

test('a dry run says what was read and changes nothing; without it they are in force, with their pictures', async () => {
  await using on = await stage()
  const contents = { 'demand.yaml': yaml(), 'tea.png': png }
  const { body: checked } = await send(on, contents, { dry_run: true })
  expect(checked).toEqual({
    is_in_force: false,
    problems: [],
    campaigns: [
      {
        ...{ campaign_id: 'cmp_fernhill_tea', file: 'demand.yaml', line: 2, sponsor_name: 'Fernhill Tea' },
        ...{ price_cpm: 90, currency: 'USD', topics: [], creatives: ['banner 300x250'], notes: [] },
      },
    ],
  })
  expect(await sponsorNow(on)).not.toBe('Fernhill Tea')
  const before = await fill(on.api, { format: 'native' })
  expect((await send(on, contents)).body.is_in_force).toBe(true)
  const { placement, slot_id } = await fill(on.api, { format: 'banner' })
  expect(Buffer.from(await (await fetch(placement.image_url!)).arrayBuffer())).toEqual(png)
  const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id } })
  expect(detail.trace.find(({ outcome }) => outcome === 'won')?.source).toEqual({ file: 'demand.yaml', line: 2 })
  const { body: earlier } = await on.api.accept('placements.explain', { params: { slot_id: before.slot_id } })
  expect(earlier.trace.find(({ outcome }) => outcome === 'won')).toBeDefined()
  // Nodes of one database have one list.
  const audit = (await on.api.accept('audit.list')).body.items.find(({ action }) => action.startsWith('demand.'))
  expect(audit).toMatchObject({ action: 'demand.replace', status: 200 })
})

test.each([
  ['a negative price', { 'demand.yaml': yaml('price_cpm: -1'), 'tea.png': png }, 'demand.yaml', 4, /more than 0/],
  [
    'a wrong name',
    { 'demand.yaml': yaml('price_cpm: 4\n    price: 4'), 'tea.png': png },
    'demand.yaml',
    5,
    /Did you mean price_cpm/,
  ],
  [
    'a picture that was not sent',
    { 'demand.yaml': yaml() },
    'demand.yaml',
    5,
    /tea\.png is not among the files\. Drop/,
  ],
  ['a file of the computer', { 'demand.yaml': yaml(undefined, '/etc/hostname') }, 'demand.yaml', 5, /absolute path/],
  ['a path out of the folder', { 'demand.yaml': yaml(undefined, '../a.png') }, 'demand.yaml', 5, /leaves the folder/],
  [
    'a script in an SVG',
    {
      'demand.yaml': yaml(undefined, 'a.svg'),
      'a.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="250"><script/></svg>',
    },
    'a.svg',
    1,
    /<script> is not allowed/,
  ],
  ['no file of demand', { 'tea.png': png }, 'tea.png', 0, /No file of demand/],
] as const)('%s is named with its place, and nothing changes', async (_, contents, file, line, said) => {
  await using on = await stage()
  const { body } = await send(on, { ...contents })
  expect(body).toMatchObject({ is_in_force: false, campaigns: [] })
  const [problem] = body.problems
  expect(problem).toMatchObject({ file, line })
  expect(`${problem?.message} ${problem?.hint}`).toMatch(said)
  expect(await sponsorNow(on)).not.toBe('Fernhill Tea')
})

test.each(['../demand.yaml', '/demand.yaml', 'a/../../b.yaml', 'a\\b.yaml', '..', ''])(
  'the name %j is refused',
  async (name) => {
    await using on = await stage()
    const refused = await on.api.refuse('demand.replace', { body: { files: [{ name, base64: encode(yaml()) }] } })
    expect([refused.status, refused.body]).toMatchObject([400, { fields: [{ path: 'files.0.name' }] }])
  },
)

test('a page of another origin cannot send files, and a reset keeps what is in force', async () => {
  await using on = await stage()
  const files = [
    { name: 'pictures/tea.png', base64: encode(png) },
    { name: 'demand.yaml', base64: encode(yaml(undefined, 'pictures/tea.png')) },
  ]
  const elsewhere = await on.api.send('POST', '/_sandbox/demand', { origin: 'https://evil.example', body: { files } })
  expect(elsewhere.status).toBe(403)
  await on.api.accept('demand.replace', { body: { files } })
  await on.api.accept('sandbox.reset', { body: {} })
  expect(await sponsorNow(on)).toBe('Fernhill Tea')
  const { slot_id } = (await on.api.accept('placements.create', { as: key, body: asked() })).body
  expect((await on.api.accept('placements.explain', { params: { slot_id } })).body.trace.length).toBeGreaterThan(1)
})

test('a restart is without them, and what they filled is still shown', async () => {
  using database = folder()
  const first = await stage({ database: `${database.path}/sandbox.db` })
  await send(first, { 'demand.yaml': yaml(), 'tea.png': png })
  const { placement } = await fill(first.api, { format: 'banner' })
  await first[Symbol.asyncDispose]()
  await using on = await stage({ database: `${database.path}/sandbox.db` })
  expect(await sponsorNow(on)).not.toBe('Fernhill Tea')
  const served = await fetch(new URL(new URL(placement.image_url!).pathname, on.sandbox.url))
  expect(Buffer.from(await served.arrayBuffer())).toEqual(png)
})
