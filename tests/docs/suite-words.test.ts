/**
 * The words of suites that the documentation has: each is one that `svc qa validate` takes, and a slip of it is reported by
 * its place, so that no run waits for an event that never comes.
 */
import { expect, test } from 'vitest'
import { Action } from '#qa/browser/schema.ts'
import { loadSuite } from '#qa/suite/load.ts'
import { stepKinds } from '#qa/suite/schema.ts'
import { SuiteError } from '#yaml/problems.ts'
import { textOf } from './markdown.ts'

interface Words {
  /** `beacon`: the field that takes them. */
  name: string
  /** As YAML: `visible`, `[frame.loaded, beacon.accepted]`. */
  values: string[]
}

/** Returns the fields in the first column of a section's table that take a word, with the words that it lists. */
function wordsIn(section: string, names: readonly string[]): Words[] {
  const [, text = ''] = textOf('docs/qa-suites.md').split(`\n## ${section}\n`)
  const rows = text.split('\n## ', 1)[0]!.match(/^\| `.*$/gm) ?? []
  return rows.flatMap((row) => {
    const [first = ''] = row.slice(2).split(/ \| | with /, 1)
    const found: Words[] = []
    for (const [, span = ''] of first.matchAll(/`([^`]+)`/g)) {
      const [, name, value] = /^(\w+): (.+)$/.exec(span) ?? []
      if (name !== undefined && value !== undefined) found.push({ name, values: [value] })
      else if (!names.includes(span)) found.at(-1)?.values.push(span)
    }
    return found.map(({ name, values }) => ({
      name,
      values: values.filter((value) => /^\[?[a-z\d][\w., ]*\]?$/.test(value)),
    }))
  })
}

function listProblems(step: string): string[] {
  const placed = '      - placement: { format: banner }\n        as: p\n'
  try {
    loadSuite(`suite: words\ntitle: Words\ncases:\n  - name: one\n    steps:\n${placed}      - ${step}\n`, 'x', '/')
    return []
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    return error.message.split('\n')
  }
}

/** Returns a value with a slip: one letter more. */
function slipped(value: string): string {
  return value.replace(/(\w)(\]?)$/, '$1x$2')
}

const kinds = stepKinds.map(({ name }) => name)
const steps = wordsIn('Steps', kinds).map((words) => ({
  ...words,
  stepOf: (value: string) => `${words.name}: ${value}`,
}))
const actions = wordsIn('Pages in a browser', Object.keys(Action.shape)).map((words) => ({
  ...words,
  stepOf: (value: string) => `{ browser: {}, do: { ${words.name}: ${value} } }`,
}))
const all = [...steps, ...actions].flatMap(({ values, stepOf }) => values.map((value) => ({ value, stepOf })))

test('they are found', () => {
  const found = all.map(({ value, stepOf }) => stepOf(value))
  expect(found.length).toBeGreaterThan(20)
  expect(found).toEqual(
    expect.arrayContaining([
      'beacon: visible',
      'wait_for: [frame.loaded, beacon.accepted]',
      'clock: resume',
      'scenario: no_fill',
      '{ browser: {}, do: { click: mute } }',
    ]),
  )
})

test.each(all.map(({ value, stepOf }) => [stepOf(value), stepOf(slipped(value))]))('%s, and not %s', (step, slip) => {
  expect(listProblems(step)).toEqual([])
  expect(listProblems(slip)).toEqual([expect.stringMatching(/^x:8:\d+: /)])
})

test.each([
  'beacon: seen',
  'beacon: viewed',
  'wait_for: seen',
  'wait_for: { type: beacon.seen }',
  '{ beacon: visible, expect: { events: [beacon.seen] } }',
  '{ browser: {}, do: { wait_for: seen } }',
])('%s is reported', (step) => {
  expect(listProblems(step)).toEqual([expect.stringMatching(/^x:8:\d+: \S+ (cannot|must) be/)])
})
