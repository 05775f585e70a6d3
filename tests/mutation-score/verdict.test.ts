import { expect, test } from 'vitest'
import { areas } from './areas.ts'
import { explained } from './explained.ts'
import { type Explanation, judgeMutants, percent, type Report } from './verdict.ts'

const source = 'const one =\n  1 +\n  2\nconst two = 2\n'

/** Mutants of a.ts with these results, and one of b.ts that was noticed. */
function createReport(...statuses: string[]): Report {
  const location = { start: { line: 1, column: 13 }, end: { line: 3, column: 4 } }
  const at = { start: { line: 2, column: 3 }, end: { line: 3, column: 4 } }
  const mutants = statuses.map((status) => ({
    status,
    mutatorName: 'Arithmetic',
    replacement: '1  -\n2',
    location: at,
  }))
  return {
    files: {
      'a.ts': { source, mutants },
      'b.ts': { source, mutants: [{ status: 'Killed', mutatorName: 'Block', replacement: '{}', location }] },
    },
  }
}

const judge = (report: Report, explanations: Explanation[]) => judgeMutants(report, ['a.ts', 'b.ts'], explanations)

const explanation = { in: 'a.ts', code: '1 + 2', becomes: '1 - 2', why: 'nobody looks at it' }

test('a mutant that no test notices lowers the score, one that runs without an end does not', () => {
  const verdict = judge(createReport('Killed', 'Timeout', 'Survived', 'NoCoverage'), [])
  expect(verdict).toMatchObject({ noticed: 3, total: 5, stale: [] })
  expect(verdict.files).toEqual([
    { file: 'a.ts', noticed: 2, total: 4 },
    { file: 'b.ts', noticed: 1, total: 1 },
  ])
  const survivor = { file: 'a.ts', line: 2, mutator: 'Arithmetic', code: '1 + 2', becomes: '1 - 2' }
  expect(verdict.survivors).toEqual([survivor, survivor])
  expect(verdict.unexplained).toEqual([survivor, survivor])
})

test('an explanation covers as many survivors as it says', () => {
  const explained = judge(createReport('Survived', 'Killed'), [explanation])
  expect([explained.unexplained, explained.stale]).toEqual([[], []])
  const two = judge(createReport('Survived', 'Survived'), [explanation])
  expect(two).toMatchObject({ unexplained: [], stale: [{ found: 2 }] })
  expect(judge(createReport('Survived', 'Survived'), [{ ...explanation, count: 2 }]).stale).toEqual([])
})

test('an explanation of nothing is stale', () => {
  const verdict = judge(createReport('Killed'), [explanation])
  expect(verdict.stale).toEqual([{ explanation, found: 0 }])
})

test.each([
  [{ code: '1 …' }, true],
  [{ becomes: '1…' }, true],
  [{ code: '1' }, false],
  [{ code: '2…' }, false],
  [{ becomes: '2' }, false],
  [{ in: 'b.ts' }, false],
])('an explanation of %j fits: %s', (change, fits) => {
  const { unexplained } = judge(createReport('Survived'), [{ ...explanation, ...change }])
  expect(unexplained.length).toBe(fits ? 0 : 1)
})

test('without a mutant in each file, or with one that has no result, there is no verdict', () => {
  expect(() => judgeMutants(createReport('Killed'), ['a.ts', 'c.ts'], [])).toThrow('c.ts has no mutants')
  expect(() => judge(createReport(), [])).toThrow('a.ts has no mutants: nothing of it was checked.')
  expect(() => judge(createReport('RuntimeError'), [])).toThrow('a.ts:2 has a mutant without a result: RuntimeError')
})

test('an explanation of a file that was not chosen is left alone', () => {
  const verdict = judgeMutants(createReport('Killed'), ['b.ts'], [explanation])
  expect(verdict).toMatchObject({ total: 1, stale: [] })
})

test('a score is rounded down', () => {
  expect(percent({ noticed: 8_999, total: 10_000 })).toBe(89.9)
  expect(percent({ noticed: 9, total: 10 })).toBe(90)
})

test('each area has files and tests, and each explanation is about one of its files', () => {
  for (const { name, files, tests } of areas)
    expect([name, files.length > 0, tests.length > 0]).toEqual([name, true, true])
  const known = new Set(areas.filter(({ isExplained }) => isExplained).flatMap(({ files }) => files))
  expect(explained.filter(({ in: file }) => !known.has(file))).toEqual([])
})
