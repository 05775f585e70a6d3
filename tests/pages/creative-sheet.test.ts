/** `svc creatives sheet` in a real browser: a good creative, a bad one, and a sheet compared with an earlier one. */

import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SheetFinding } from '#qa/sheet/checks.ts'
import { renderSheet } from '#qa/sheet/render.ts'
import { startSandbox } from '#sandbox/index.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { startTestCli, type TestCli } from '#tests/cli/test-cli.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

const creatives = join(import.meta.dirname, '../../fixtures/creatives/larkfield-coffee')
const good = { title: 'Tea', description: 'Fresh tea.', cta_text: 'Buy' }

/** Writes a file of one native creative. Returns its path. */
function write(texts: typeof good): string {
  const folder = temporaryDirectory()
  for (const name of ['native.webp', 'icon.webp']) copyFileSync(join(creatives, name), join(folder, name))
  const lines = Object.entries(texts).map(([name, text]) => `        ${name}: ${JSON.stringify(text)}`)
  const head = [
    'campaigns:',
    '  - sponsor_name: Tea',
    '    click_url: https://tea.example/',
    '    price_cpm: 4',
    '    creatives:',
  ]
  const yaml = [...head, '      - image: native.webp', '        icon: icon.webp', ...lines, ''].join('\n')
  const file = join(folder, 'demand.yaml')
  writeFileSync(file, yaml)
  return file
}

interface Printed {
  variants: number
  rendered: number
  findings: SheetFinding[]
  unmeasured: { rule: string; why: string }[]
  differences: { what: string; variant_id: string }[] | null
}

async function run(words: string): Promise<{ code: number; stderr: string; printed: Printed }> {
  const { code, stdout, stderr } = await cli.svc(`creatives sheet ${words} -o json`)
  return { code, stderr, printed: stdout === '' ? ({} as Printed) : JSON.parse(stdout) }
}

test('a good creative has no finding in any variant; a change is found by its picture', async () => {
  const file = write(good)
  const sheet = join(temporaryDirectory(), 'sheet.html')
  const { code, stderr, printed } = await run(`${file} --out ${sheet}`)
  expect(printed.findings, stderr).toEqual([])
  expect(code).toBe(0)
  expect(printed.rendered).toBe(printed.variants)
  expect(printed.variants).toBeGreaterThan(60)
  expect(new Set(printed.unmeasured.map(({ why }) => why))).toEqual(new Set(['The colours are those of the reader.']))
  const page = readFileSync(sheet, 'utf8')
  expect(page.match(/<img id=/g)).toHaveLength(printed.variants)
  expect(page).not.toMatch(/(?:src|href)="(?!data:|#)/)

  const same = await run(`${file} --compare-with ${sheet}`)
  expect(same.printed.differences).toEqual([])
  expect(same.code).toBe(0)

  const changed = await run(`${write({ ...good, title: 'Hot tea' })} --compare-with ${sheet}`)
  expect(changed.code).toBe(5)
  expect(changed.printed.findings).toEqual([])
  expect(changed.printed.differences).toEqual(
    expect.arrayContaining([expect.objectContaining({ what: 'changed', variant_id: 'crv_tea_1-card-320-light' })]),
  )
})

test('text without room is cut off where it is, and the sheet fails', async () => {
  const sheet = join(temporaryDirectory(), 'sheet.png')
  const title =
    'A title that is so long that no template has the room for all of it, however wide the page is that shows it, and then goes on'
  const { code, printed } = await run(`${write({ ...good, title })} --out ${sheet}`)
  expect(code).toBe(5)
  const found = printed.findings.map(({ rule, variant_id, part }) => `${rule} ${part} ${variant_id}`)
  expect(found).toContain('text-cut title crv_tea_1-list_item-320-light')
  expect(readFileSync(sheet).subarray(1, 4).toString()).toBe('PNG')
})

test('a frame that the service refuses is a finding at once', async () => {
  await using sandbox = await startSandbox({ database: ':memory:', seed: 1 })
  const refusing = createServer(async ({ url = '' }, response) => {
    const answer = await fetch(sandbox.url + url)
    const isSheet = url === '/_sandbox/creatives/cmp_larkfield_coffee'
    response.writeHead(isSheet ? answer.status : 503, { 'content-type': 'application/json' }).end(await answer.text())
  })
  await once(refusing.listen(0, '127.0.0.1'), 'listening')
  try {
    const source = { base_url: `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`, token: null }
    const { signal } = new AbortController()
    const { variants } = await renderSheet(await sharedChromium(), source, {
      campaign_id: 'cmp_larkfield_coffee',
      signal,
    })
    const messages = variants.flatMap(({ findings }) => findings.map(({ message }) => message))
    expect(new Set(messages)).toEqual(new Set(['The service refused its frame with 503.']))
    expect(messages).toHaveLength(variants.length)
  } finally {
    refusing.closeAllConnections()
    refusing.close()
  }
})

test.each([
  ['cmp_larkfield_cofee', 2, 'Did you mean cmp_larkfield_coffee?'],
  ['missing.yaml', 2, 'missing.yaml'],
  ['cmp_larkfield_coffee --out sheet.gif', 2, '--out sheet.html'],
  ['cmp_larkfield_coffee --compare-with package.json', 2, 'package.json'],
])('%s is refused', async (words, code, said) => {
  const result = await run(words)
  expect(result.code).toBe(code)
  expect(result.stderr).toContain(said)
})
