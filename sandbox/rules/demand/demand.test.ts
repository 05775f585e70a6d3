/** Your own demand: what is read of it, and every kind of file that is refused, each with its place and its fix. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { SuiteError } from '#yaml/problems.ts'
import { readDemandFiles } from './read-demand.ts'

const fixture = (name: string) => readFileSync(join(import.meta.dirname, '../../../fixtures', name))
const png = fixture('test-assets/banner-300x250.png')
const clip = fixture('test-assets/clip-640x360-6s.mp4')
const webp = fixture('creatives/larkfield-coffee/banner-728x90.webp')
const svg = (inner: string, head = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="250">') =>
  `${head}\n${inner}\n</svg>`

type Files = Record<string, string | Uint8Array | { link: string }>

/** A campaign with a creative: `fields` are lines of the campaign, `creative` is one in flow style. */
function campaign(creative: string, fields = ''): string {
  return `campaigns:
  - sponsor_name: Fernhill Tea
    click_url: https://fernhill.example/tea
    price_cpm: 40
${fields}    creatives:
      - ${creative}
`
}

function write(files: Files): string {
  const folder = temporaryDirectory()
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    if (typeof content === 'object' && 'link' in content) symlinkSync(content.link, path)
    else writeFileSync(path, content)
  }
  return folder
}

async function listProblems(files: Files): Promise<string[]> {
  const folder = write(files)
  const error = await readDemandFiles(join(folder, 'demand.yaml')).catch((thrown: unknown) => thrown)
  if (!(error instanceof SuiteError)) throw new Error('it was not refused', { cause: error })
  return error.message.replaceAll(`${folder}/`, '').split('\n')
}

test('sizes, lengths and types come from the files, ids from the sponsor', async () => {
  const native = '{ title: Tea, cta_text: Try it, image: a.png, icon: a.png }'
  const yaml = `${campaign('file: a.png')}      - file: b.mp4\n        poster: c.webp\n      - ${native}\n      - file: c.webp\n      - file: d.svg\n`
  const folder = write({
    ...{ 'demand.yaml': yaml, 'a.png': png, 'b.mp4': clip, 'c.webp': webp },
    'd.svg': svg('<rect width="10" height="10"/>', '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 50">'),
  })
  const { market, read } = await readDemandFiles(folder)
  expect(market.campaigns[0]).toMatchObject({
    ...{ campaign_id: 'cmp_fernhill_tea', partner_id: 'ptn_own', source: { file: 'demand.yaml', line: 2 } },
    creatives: [
      { creative_id: 'crv_fernhill_tea_1', format: 'banner', width: 300, height: 250, mime_type: 'image/png' },
      { format: 'clip', width: 640, height: 360, duration_ms: 6000, mime_type: 'video/mp4' },
      { format: 'native', title: 'Tea' },
      { width: 728, height: 90, mime_type: 'image/webp' },
      { width: 300, height: 250, mime_type: 'image/svg+xml' },
    ],
  })
  expect(Object.keys(market.files)).toHaveLength(4)
  expect(read.size).toBe(6)
})

test('the ids of names are numbered, and a picture of twice the size is shown in the half', async () => {
  const double = Buffer.from(png)
  double.writeUInt32BE(600, 16)
  double.writeUInt32BE(500, 20)
  const one = campaign('file: a.png')
  const folder = write({ 'a.yaml': one, 'b.yaml': one, 'a.png': double })
  const { market } = await readDemandFiles(folder)
  expect(market.campaigns.map(({ campaign_id }) => campaign_id)).toEqual(['cmp_fernhill_tea', 'cmp_fernhill_tea_2'])
  expect(market.campaigns[1]!.creatives[0]).toMatchObject({ width: 300, height: 250 })
})

const sized = (width: number, height: number) => {
  const bytes = Buffer.from(png)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
const picture = (content: string | Uint8Array | { link: string }, name = 'a.png') => ({
  'demand.yaml': campaign(`file: ${name}`),
  [name]: content,
})
const drawn = (inner: string, head?: string) => picture(svg(inner, head), 'a.svg')
const written = (yaml: string) => ({ 'demand.yaml': yaml, 'a.png': png, 'b.mp4': clip })
const nested = `${'['.repeat(300)}${']'.repeat(300)}`
const aliases = `a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [${'*a, '.repeat(8)}*a]\nc: &c [${'*b, '.repeat(8)}*b]\nd: [${'*c, '.repeat(8)}*c]\n`

test('an absolute path is named as one, with the relative path where it is in the folder', async () => {
  const folder = write({ 'a.png': png })
  const inside = join(folder, 'a.png')
  const yaml = (name: string) => ({ 'demand.yaml': campaign(`file: '${name}'`) })
  const readProblem = async (name: string, beside = folder) => {
    writeFileSync(join(beside, 'demand.yaml'), yaml(name)['demand.yaml'])
    const error = await readDemandFiles(join(beside, 'demand.yaml')).catch((thrown: unknown) => thrown)
    return error instanceof SuiteError ? error.problems[0] : null
  }
  expect(await readProblem(inside)).toMatchObject({
    message: `${inside} is an absolute path, and none is taken.`,
    hint: 'Name it from the folder of the file of demand: a.png',
  })
  expect(await readProblem('/elsewhere/b.png')).toMatchObject({
    hint: 'Put it beside the file of demand, and name it from there: b.png',
  })
})

test.each([
  ['price: 40', 'price_cpm'],
  ['sponsor: Tea', 'sponsor_name'],
  ['url: https://fernhill.example', 'click_url'],
  ['topcis: [tea]', 'topics'],
])('the field %s is answered with the name that was meant', async (line, name) => {
  const [said] = await listProblems({ 'demand.yaml': campaign('file: a.png', `    ${line}\n`), 'a.png': png })
  expect(said).toContain(`Did you mean ${name}?`)
})

/** What is given, and the beginning of what is said of it. */
const hostile: [what: string, files: Files, said: RegExp][] = [
  // Pictures and clips.
  ['no bytes', picture(''), /^demand\.yaml:6:15: a\.png is empty\. Export/],
  ['a cut PNG', picture(png.subarray(0, 3000)), /^demand\.yaml:6:15: a\.png is cut off/],
  ['something after a PNG', picture(Buffer.concat([png, Buffer.from('<script>')])), /cut off, or something follows/],
  ['a PNG without its header', picture(Buffer.concat([png.subarray(0, 8), png.subarray(-12)])), /broken PNG|1 to 4096/],
  ['20,000 pixels', picture(sized(20_000, 250)), /a\.png is 20000x250, and a side may have 1 to 4096 pixels/],
  ['a bomb of pixels', picture(sized(4_000_000_000, 4_000_000_000)), /a side may have/],
  ['no pixels', picture(sized(0, 250)), /a side may have/],
  [
    'too many bytes',
    picture(Buffer.concat([png.subarray(0, -12), Buffer.alloc(2_000_000), png.subarray(-12)])),
    /at most 2000000 are taken/,
  ],
  [
    'a JPEG named PNG',
    picture(Buffer.from('ffd8ffe000104a46494600ffd9', 'hex')),
    /a\.png is a JPEG by its content\. Name it a\.jpg/,
  ],
  ['a cut JPEG', picture(Buffer.from('ffd8ffe000104a46494600', 'hex'), 'a.jpg'), /cut off/],
  ['a JPEG without a picture', picture(Buffer.from('ffd8ffe000104a46494600ffd9', 'hex'), 'a.jpg'), /broken JPEG/],
  ['HTML named PNG', picture('<html><script>alert(1)</script></html>'), /of no type that is served\. Known: PNG/],
  ['a program', picture(Buffer.from('7f454c46020101', 'hex')), /of no type/],
  ['a cut GIF', picture(Buffer.from('GIF89a\x2c\x01\xfa\x00', 'latin1'), 'a.gif'), /cut off/],
  ['a cut WebP', picture(webp.subarray(0, 200), 'a.webp'), /cut off/],
  [
    'a WebP of no size',
    picture(Buffer.from('524946460400000057454250', 'hex'), 'a.webp'),
    /broken WebP|a side may have/,
  ],
  ['another size', picture(sized(500, 400)), /a\.png is 500x400, no size of a banner\. Export it as 970x250/],
  ['a size too small', picture(sized(30, 25)), /no size of a banner/],
  ['a cut clip', picture(clip.subarray(0, 30_000), 'b.mp4'), /cut off/],
  ['a clip of a header', picture(clip.subarray(0, 32), 'b.mp4'), /broken MP4|cut off|no picture track/],
  ['a WebM of its first bytes', picture(Buffer.from('1a45dfa3', 'hex'), 'b.webm'), /broken WebM/],
  ['an MP4 named WebM', picture(clip, 'b.webm'), /b\.webm is a MP4 by its content\. Name it b\.mp4/],
  ['no extension', picture(png, 'a'), /a is a PNG by its content/],
  // SVG: line and column of the picture.
  [
    'a script',
    drawn('<script>alert(1)</script>'),
    /^a\.svg:2:\d+: The element <script> is not allowed\..* named by demand\.yaml:6/,
  ],
  [
    'a script of another namespace',
    drawn('<x:script xmlns:x="http://www.w3.org/2000/svg"/>'),
    /<x:script> is not allowed/,
  ],
  ['an event', drawn('<rect onload="alert(1)"/>'), /^a\.svg:2:\d+: The attribute onload is a script/],
  [
    'an event of the root',
    drawn('', '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="250" ONLOAD="x()">'),
    /ONLOAD is a script/,
  ],
  [
    'HTML',
    drawn('<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>'),
    /<foreignObject> is not allowed/,
  ],
  ['a link', drawn('<a href="https://evil.example"><rect/></a>'), /<a> is not allowed/],
  ['an animation', drawn('<animate attributeName="href" to="javascript:1"/>'), /<animate> is not allowed/],
  ['a picture from elsewhere', drawn('<image href="https://evil.example/x.png"/>'), /href refers to something outside/],
  [
    'a picture by xlink',
    drawn('<image xlink:href="//evil.example/x" xmlns:xlink="http://www.w3.org/1999/xlink"/>'),
    /outside/,
  ],
  ['an SVG in an SVG', drawn('<image href="data:image/svg+xml,x"/>'), /outside/],
  ['a javascript URL with blanks', drawn('<use href=" java&#10;script:alert(1)"/>'), /outside/],
  ['a style sheet', drawn('<style>@import "https://evil.example/x.css";</style>'), /style loads something/],
  ['a background', drawn('<rect style="fill:url(https://evil.example/x)"/>'), /style loads something/],
  ['a hidden URL', drawn('<style>rect{fill:u\\72l(x)} circle{fill:url(\\68ttp://x)}</style>'), /style loads/],
  [
    'an entity',
    drawn('<text>&x;</text>', '<!DOCTYPE svg [<!ENTITY x "y">]><svg xmlns="http://www.w3.org/2000/svg">'),
    /document type/,
  ],
  [
    'a style instruction',
    picture(`<?xml-stylesheet href="x.css"?>${svg('')}`, 'a.svg'),
    /can load a style sheet|no type/,
  ],
  ['no namespace', drawn('', '<svg width="300" height="250">'), /first element is not <svg xmlns/],
  ['no size', drawn('', '<svg xmlns="http://www.w3.org/2000/svg">'), /neither width and height nor a viewBox/],
  ['an open element', picture('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 6 5"><g>', 'a.svg'), /is no XML/],
  ['deep nesting', drawn(`${'<g>'.repeat(300)}${'</g>'.repeat(300)}`), /nests more than 200 levels/],
  ['a forest', drawn('<rect/>'.repeat(20_001)), /more than 20000 elements/],
  // Paths.
  [
    'a path out of the folder',
    written(campaign('file: ../a.png')),
    /^demand\.yaml:6:15: \.\.\/a\.png leaves the folder/,
  ],
  ['a path within that leaves', written(campaign('file: x/../../a.png')), /leaves the folder/],
  ['an absolute path', written(campaign('file: /etc/passwd')), /is an absolute path, and none is taken/],
  ['a path of Windows', written(campaign('file: C:\\a.png')), /is an absolute path, and none is taken/],
  ['backslashes', written(campaign('file: ..\\a.png')), /leaves the folder/],
  ['a backslash', written(campaign('file: x\\a.png')), /has a backslash\. Name it with slashes: x\/a\.png/],
  ['a link', picture({ link: '/etc/hostname' }), /a\.png is a link/],
  ['a folder that is a link', { ...written(campaign('file: sub/hostname')), sub: { link: '/etc' } }, /is a link/],
  ['a folder', { ...written(campaign('file: sub')), 'sub/x': '' }, /sub is no file/],
  ['a file that is not there', written(campaign('file: z.png')), /z\.png cannot be read: no such file/],
  // The file itself.
  ['no YAML', written('campaigns: ['), /^demand\.yaml:1:\d+: This is not YAML/],
  ['a huge file', written(`# ${'x'.repeat(8_000_000)}`), /^demand\.yaml: It has 8000002 bytes/],
  ['aliases without end', written(aliases), /aliases of this file expand|Unknown field/],
  ['deep YAML', written(`campaigns: ${nested}`), /nested too deeply/],
  [
    'an unknown field',
    written(campaign('file: a.png', '    topic: [tea]\n')),
    /^demand\.yaml:5:5: Unknown field topic.*Did you mean topics\?/,
  ],
  [
    'a negative price',
    written(campaign('file: a.png').replace('40', '-1')),
    /^demand\.yaml:4:16: campaigns\.0\.price_cpm must be more than 0/,
  ],
  ['no price', written(campaign('file: a.png').replace('    price_cpm: 40\n', '')), /price_cpm is missing/],
  ['an unknown currency', written(campaign('file: a.png', '    currency: XYZ\n')), /^demand\.yaml:5:15: /],
  [
    'a script as a page',
    written(campaign('file: a.png').replace('https://fernhill.example/tea', 'javascript:alert(1)')),
    /must be a URL with http or https/,
  ],
  [
    'an address as a page',
    written(campaign('file: a.png').replace('fernhill.example', '10.0.0.1')),
    /10\.0\.0\.1 is no domain\. Add one/,
  ],
  [
    'no creatives',
    written(campaign('file: a.png').replace(/creatives:[\s\S]*/, 'creatives: []')),
    /creatives must not be empty/,
  ],
  ['a wrong day', written(campaign('file: a.png', '    starts_at: 2027-02-30\n')), /must be a day or a time/],
  [
    'a declared size that is another',
    written(campaign('{ file: a.png, size: 728x90 }')),
    /a\.png is 300x250, not 728x90/,
  ],
  ['a size that no slot has', written(campaign('{ file: a.png, size: 300x251 }')), /300x251 is no size of a banner/],
  [
    'a declared length that is another',
    written(campaign('{ file: b.mp4, duration_ms: 9000 }')),
    /b\.mp4 takes 6000 ms, not 9000/,
  ],
  [
    'a picture with a length',
    written(campaign('{ file: a.png, duration_ms: 9000 }')),
    /a picture, which has no duration_ms/,
  ],
  [
    'a clip as an icon',
    written(campaign('{ title: T, cta_text: C, image: a.png, icon: b.mp4 }')),
    /b\.mp4 is a clip\. Name a picture/,
  ],
  [
    'an id twice',
    written(
      campaign('file: a.png', '    id: x\n') + campaign('file: a.png', '    id: x\n').replace('campaigns:\n', ''),
    ),
    /^demand\.yaml:11:9: There is another campaign x/,
  ],
  [
    'an unknown partner',
    written(campaign('file: a.png', '    partner: x\n')),
    /^demand\.yaml:5:14: There is no partner x/,
  ],
  ['a partner twice', written(`partners: [{ id: x }, { id: x }]\n${campaign('file: a.png')}`), /another partner x/],
]

test.each(hostile)('%s is refused', async (_, files, said) => {
  const problems = await listProblems(files)
  expect(problems.join('\n')).toMatch(new RegExp(said.source, 'm'))
  for (const problem of problems) expect(problem).toMatch(/^(demand\.yaml|a\.svg)(:\d+:\d+)?: \S.*\.? /)
})

test('everything wrong is said at once, in the order of the file', async () => {
  const yaml = `${campaign('file: a.png')}      - file: z.png\n      - file: y.png\n`
  expect(await listProblems({ 'demand.yaml': yaml, 'a.png': 'x' })).toEqual([
    expect.stringMatching(/^demand\.yaml:6:15: a\.png is of no type/),
    expect.stringMatching(/^demand\.yaml:7:15: z\.png cannot be read/),
    expect.stringMatching(/^demand\.yaml:8:15: y\.png cannot be read/),
  ])
})
