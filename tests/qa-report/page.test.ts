/** The markup of the page of a run, without a browser. */
import { expect, test } from 'vitest'
import { pageOf } from '../../src/qa/report/html/page.ts'
import { item, run } from './results.ts'

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
  const page = pageOf(run(cases.map(([row, format, name]) => item({ name, matrix: { row, format } }))))
  expect(matrixRows(page)).toEqual([
    ['By row', 'status 200, reason ok', 'status 404, reason not_found'],
    ['beacons a banner responds {row.status}', '✓', '✓'],
    ['beacons a clip responds {row.status}', '✓', ''],
  ])
})
