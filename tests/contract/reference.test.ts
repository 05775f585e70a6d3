import { expect, test } from 'vitest'
import { endpointPages, number, referenceFiles, table } from '#build/docs/reference.ts'
import { contract } from '#contract/index.ts'

const files = referenceFiles()
const pages = new Map(endpointPages().map((page) => [page.name, page]))
const page = (name: string) => pages.get(name)!.markdown

test('every endpoint has a row and a page', () => {
  for (const { id, method, path } of Object.values(contract)) {
    expect(files[pages.get(id)!.file]).toContain(`| \`${id}\` | ${method} ${path} |`)
    expect(page(id)).toMatch(new RegExp(`^# ${method} ${path.replaceAll(/[{}.]/g, '\\$&')}\n`))
  }
})

test('a field is a row with its type, whether it is required, and its provenance', () => {
  expect(page('placements.create')).toContain(
    '| `overrides.allowed_formats` | string[], at least 1 item: `banner`, `clip`, `native` | no | documented |  | Formats that may fill;',
  )
  expect(page('placements.create')).toContain('string: a [no-fill reason](codes/no-fill.md)')
  expect(page('jobs.create')).toContain('## Body, as BrowserJobRequest')
})

test('a response that an earlier endpoint has described is a link', () => {
  expect(page('decisions.get')).toContain(
    '## Response 200\n\nThe same as that of [POST /v1/placements](/_sandbox/docs/reference/placements.create).',
  )
})

test('they are the same every time', () => {
  expect(referenceFiles()).toEqual(files)
  expect(endpointPages()).toEqual([...pages.values()])
})

test('Markdown: cells are escaped, thousands are spaced', () => {
  expect(table(['A', 'B'], [['<name>', 'a | b']])).toBe('| A | B |\n|---|---|\n| &lt;name> | a \\| b |')
  expect([7, 65_536, 1_000_000, 0.25].map(number)).toEqual(['7', '65,536', '1,000,000', '0.25'])
})
