/** The snippet that adds render.js to a page is the same in every place that shows one. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pageSnippet, stubLines } from '#foundation/page-snippet.ts'
import { typescriptExport } from '#inspector/views/playground/exports.ts'
import { root } from '#tests/cli/process.ts'
import { blocksOf, docFiles } from './markdown.ts'

/** Without their tests, which wait for render.js. */
const templates = globSync('templates/**/*.{html,js,ts,tsx,md}', {
  cwd: root,
  exclude: ['**/node_modules/**', '**/*.spec.js'],
})
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const lines = (text: string) => text.split('\n').map((line) => line.trim())
const stub = stubLines.map((line) => line.trim())

/** Returns the stubs in a text: from the line that begins one to the line that ends it. */
function stubsIn(text: string): string[][] {
  const all = lines(text)
  return all.flatMap((line, at) =>
    line.startsWith('window.SponsoredPlacement = ') ? [all.slice(at, all.indexOf('}', at) + 1)] : [],
  )
}

/** A script element of render.js. */
const scriptElement = /<script[^>]* src="[^"]*\/v1\/render\.js"[^>]*>/

test.each(docFiles)('%s', (file) => {
  for (const { language, text } of blocksOf(file)) {
    if (language !== 'html' || !scriptElement.test(text)) continue
    expect(text).toContain(`${pageSnippet('http://127.0.0.1:4010/v1/render.js').join('\n')}\n`)
  }
  for (const each of stubsIn(
    blocksOf(file)
      .map(({ text }) => text)
      .join('\n'),
  ))
    expect(each).toEqual(stub)
})

test('the README, the guide and the reference show it', () => {
  for (const file of ['README.md', 'docs/guides/browser.md', 'docs/renderer.md']) {
    expect(stubsIn(read(file)), file).toHaveLength(1)
  }
})

test.each(templates)('%s has no other stub, and does not use render.js as if it were always there', (file) => {
  const text = read(file)
  for (const each of stubsIn(text)) expect(each).toEqual(stub)
  // Below a page with the stub only `withTurn` and `queue` are always there; elsewhere nothing is.
  const uses = [...text.matchAll(/SponsoredPlacement(\??)\.(\w+)/g)].filter(([, optional]) => optional === '')
  const isWithStub = file.startsWith('templates/_shared/page/')
  expect(uses.map(([, , name]) => name).filter((name) => !isWithStub || !/^(withTurn|queue)$/.test(name!))).toEqual([])
})

test('the playground exports it', () => {
  const call = { id: 'placements.create', method: 'POST', path: '/v1/placements', body: {}, as: 'browser' } as const
  const text = typescriptExport(call, { base_url: 'http://127.0.0.1:4010', origin: 'http://localhost:3000' })
  expect(stubsIn(text)).toEqual([stub])
  expect(text).toContain('<script src="http://127.0.0.1:4010/v1/render.js" async></script>')
})

test('it is at most ten lines that an engine of 2015 can parse, and does not throw when the work does', async () => {
  expect(stubLines.length).toBeLessThanOrEqual(10)
  expect(stubLines.join('\n')).not.toMatch(/=>|`|\?\.|\?\?|\b(let|const|class|async|await)\b/)
  const page = {
    window: {} as {
      SponsoredPlacement?: { queue: unknown[]; withTurn(options: object, work: () => unknown): Promise<unknown> }
    },
  }
  new Function('window', stubLines.join('\n'))(page.window)
  const renderer = page.window.SponsoredPlacement!
  await expect(renderer.withTurn({}, () => 1)).resolves.toBe(1)
  await expect(
    renderer.withTurn({}, () => {
      throw new RangeError('of the work')
    }),
  ).rejects.toThrow('of the work')
  expect(renderer.queue).toHaveLength(2)
})
