/** `--reporter`: valid values, and the messages for invalid ones. */
import { expect, test } from 'vitest'
import { createReporters } from '#qa/report/reporters.ts'
import { QaError } from '#qa/result.ts'
import { everything, failedItem, item, run } from './results.ts'
import { reportRun, testTools } from './sinks.ts'

test.each([
  [
    ['htlm=qa.html'],
    'reporter_unknown',
    "There is no reporter 'htlm'.",
    'Did you mean html? Reporters: list, junit, json, html, markdown, ctrf, sarif.',
  ],
  [
    ['junti'],
    'reporter_unknown',
    "There is no reporter 'junti'.",
    'Did you mean junit? Reporters: list, junit, json, html, markdown, ctrf, sarif.',
  ],
  [
    ['tap'],
    'reporter_unknown',
    "There is no reporter 'tap'.",
    'Did you mean junit? Reporters: list, junit, json, html, markdown, ctrf, sarif.',
  ],
  [
    ['spectacular'],
    'reporter_unknown',
    "There is no reporter 'spectacular'.",
    'Reporters: list, junit, json, html, markdown, ctrf, sarif.',
  ],
  [
    ['list', 'junit'],
    'reporter_stdout_taken',
    'Only one reporter can write to stdout, and list and junit would.',
    'Give all but one a file: --reporter list --reporter junit=report.xml',
  ],
  [
    ['json='],
    'reporter_file_missing',
    '--reporter json= names no file.',
    'Name one, as in --reporter json=qa.json, or leave the = out for stdout.',
  ],
  [['json=a', 'html=a'], 'reporter_file_taken', 'Two reporters would write to a.', 'Give each its own file.'],
] as const)('%j is refused before anything is written', (specs, code, message, hint) => {
  const tools = testTools()
  let error: unknown
  try {
    createReporters([...specs], tools)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(QaError)
  expect(error).toMatchObject({ code, message })
  expect((error as QaError).hint).toBe(hint)
  expect([tools.out(), tools.err(), tools.files.size]).toEqual(['', '', 0])
})

test('several write at once, and name their files', async () => {
  const tools = testTools()
  await reportRun(
    createReporters(['markdown', 'junit=out/report.xml', 'html=a=b.html', 'json=qa.json'], tools),
    everything(),
  )
  expect(tools.out()).toMatch(/^## /)
  expect([...tools.files.keys()]).toEqual(['out/report.xml', 'a=b.html', 'qa.json'])
  expect(tools.err()).toMatch(
    /^junit report: out\/report\.xml \(\d+ kB\)\nhtml report: a=b\.html \(\d+ kB\)\njson report: qa\.json \(\d+ kB\)\n6 failed, 16 passed, 3 not applicable, 1 not run in 1\.23 s\n$/,
  )
})

test('quiet, only what was asked for is printed', async () => {
  const tools = testTools({ quiet: true, is_terminal: true })
  await reportRun(createReporters(['html=qa.html'], tools), run([item()]))
  expect([tools.out(), tools.err(), [...tools.files.keys()]]).toEqual(['', '', ['qa.html']])
})

test('a file that cannot be written is an error, and the other reports are complete', async () => {
  const tools = testTools()
  const reporter = createReporters(['list', 'junit=no/report.xml', 'json=qa.json'], {
    ...tools,
    writeFile: async (path, content) => {
      if (path.startsWith('no/')) throw new Error('EACCES: permission denied')
      await tools.writeFile(path, content)
    },
  })
  await expect(reportRun(reporter, run([failedItem()]))).rejects.toMatchObject({
    name: 'QaError',
    code: 'report_unwritable',
    message: 'Cannot write the junit report to no/report.xml: EACCES: permission denied',
  })
  expect([...tools.files.keys()]).toEqual(['qa.json'])
  expect(tools.out()).toContain('1 failed')
})
