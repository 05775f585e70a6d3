/** The markup of the page of a run, without a browser. */
import { expect, test } from 'vitest'
import { renderPage } from '#qa/report/html/page.ts'
import { exchange, failedItem, item, run, screenshot, step } from './results.ts'

/** Returns the texts of the cells of each row of the matrix. */
function matrixRows(page: string): string[][] {
  const [, matrix = ''] = /<section id="matrix".*?<\/section>/s.exec(page)?.[0].split('</h2>') ?? []
  return [...matrix.matchAll(/<tr>.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => cell.replace(/<[^>]+>/g, '')),
  )
}

test('rows and columns of the matrix are in words', () => {
  const cases = [
    [{ status: 200, reason: 'ok' }, 'banner', 'a banner responds 200'],
    [{ status: 404, reason: 'not_found' }, 'banner', 'a banner responds 404'],
    [{ status: 200, reason: 'ok' }, 'clip', 'a clip responds 200'],
  ] as const
  const page = renderPage(run(cases.map(([row, format, name]) => item({ name, matrix: { row, format } }))))
  expect(matrixRows(page)).toEqual([
    ['By row', 'status 200, reason ok', 'status 404, reason not_found'],
    ['beacons a banner responds {row.status}', '✓', '✓'],
    ['beacons a clip responds {row.status}', '✓', ''],
  ])
})

test('a thousand cases with long bodies and screenshots stay one page: only what failed is kept whole', () => {
  const items = Array.from({ length: 120 }, (_, index) => ({ index, text: 'a line of a body' }))
  const body = JSON.stringify({ items })
  const long = exchange({ response_body: body, request_body: body })
  const picture = screenshot('frame', 1_000, 800)
  const noise = { ...picture, png: new Uint8Array(200_000).fill(7) }
  const cases = Array.from({ length: 1_000 }, (_, index) => {
    const steps = [step({ exchanges: [long] }), step({ screenshots: [index % 10 === 0 ? noise : picture] })]
    return index < 30 ? failedItem({ steps: [...steps, ...failedItem().steps] }) : item({ steps })
  })
  const page = renderPage(run(cases))
  const [failures = '', rest = ''] = page.split('<section id="cases"')
  const count = (text: string, words: string) => text.split(words).length - 1
  expect(Buffer.byteLength(page)).toBeLessThan(45_000_000)
  expect(count(failures, 'left out because the case passed')).toBe(0)
  expect(count(rest, 'left out because the case passed')).toBe(970 * 2)
  expect(count(rest, 'left out to keep this page small')).toBeGreaterThan(0)
})
