import { expect, test } from 'vitest'
import { anchor, number, referenceMarkdown, table } from '#build/docs/reference.ts'
import { contract } from '#contract/index.ts'
import { contractListing } from '#contract/listing.ts'

const reference = referenceMarkdown()
const headings = reference.split('\n').flatMap((line) => /^#+ (.+)/.exec(line)?.[1] ?? [])

test('every endpoint has a section, every cause and no-fill reason a row', () => {
  for (const { method, path } of Object.values(contract)) expect(headings).toContain(`${method} ${path}`)
  const { reason_codes, no_fill_reasons } = contractListing()
  for (const { reason_code, hint } of reason_codes) {
    expect(reference).toContain(`| \`${reason_code}\` |`)
    expect(reference).toContain(hint.replaceAll('<', '&lt;'))
  }
  for (const { no_fill_reason } of no_fill_reasons) expect(reference).toContain(`| \`${no_fill_reason}\` |`)
})

test('every link leads to a heading', () => {
  const anchors = new Set(headings.map(anchor))
  const links = [...reference.matchAll(/\]\(#([^)]+)\)/g)].map(([, link]) => link)
  expect(links.length).toBeGreaterThan(20)
  for (const link of links) expect(anchors).toContain(link)
})

test('a field is a row with its type, whether it is required, and its provenance', () => {
  expect(reference).toContain(
    '| `overrides.allowed_formats` | string[], at least 1 item: `banner`, `clip`, `native` | no | documented |  | Formats that may fill;',
  )
  expect(reference).toContain('| `decision.no_fill_reason` | NoFillDecision | string: a [no-fill reason]')
  expect(reference).toContain('**Body, as BrowserJobRequest**')
})

test('a response that an earlier endpoint has described is a link', () => {
  expect(reference).toContain('**Response 200**: the same as that of [POST /v1/placements](#post-v1placements).')
})

test('it is the same every time', () => {
  expect(referenceMarkdown()).toBe(reference)
})

test('Markdown: cells are escaped, thousands are spaced', () => {
  expect(table(['A', 'B'], [['<name>', 'a | b']])).toBe('| A | B |\n|---|---|\n| &lt;name> | a \\| b |')
  expect([7, 65_536, 1_000_000, 0.25].map(number)).toEqual(['7', '65,536', '1,000,000', '0.25'])
})
