/** SARIF: valid by the schema of OASIS, results only with a place in a file, and fingerprints that stay. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createReporters } from '#qa/report/reporters.ts'
import type { CaseResult, RunResult } from '#qa/result.ts'
import { check, everything, failedItem, item, place, run, step } from './results.ts'
import { reportRun, testTools } from './sinks.ts'

/** Zod takes a relative reference for an address, which it is not: that format is left out. */
const schema = z.fromJSONSchema(
  JSON.parse(readFileSync(new URL('sarif.schema.json', import.meta.url), 'utf8'), (name, value) =>
    name === 'format' && value === 'uri-reference' ? undefined : value,
  ),
)

interface Result {
  ruleId: string
  ruleIndex: number
  level: string
  message: { text: string }
  locations: { physicalLocation: { artifactLocation: object; region: object } }[]
  partialFingerprints: Record<string, string>
}

async function readSarif(result: RunResult) {
  const tools = testTools()
  await reportRun(createReporters(['sarif=qa.sarif'], tools), result)
  const document = JSON.parse(tools.files.get('qa.sarif')!)
  expect(schema.safeParse(document).error?.message).toBeUndefined()
  const [only] = document.runs
  const { rules } = only.tool.driver
  return {
    document,
    results: only.results as Result[],
    rules,
    notifications: only.invocations[0].toolExecutionNotifications as { level: string; message: { text: string } }[],
    isSuccessful: only.invocations[0].executionSuccessful as boolean,
    id: only.automationDetails.id as string,
  }
}

const fingerprints = (results: readonly Result[]) => results.map((each) => each.partialFingerprints['svcFinding/v1'])

/** A finding of `svc observe`: its step has a place in a source file, or none. */
function finding(file: string | null, given: Partial<CaseResult> = {}): CaseResult {
  const none = { file: 'observe/secret-key-served', line: 0, column: 0 }
  const message = 'http://localhost/app.js:1 contains the secret key sk_test_….'
  return item({
    id: 'observe/secret-key-served',
    suite: 'observe',
    name: 'no served file contains a secret key',
    topic: 'rules/secret-key-served',
    tags: ['error'],
    place: none,
    outcome: 'failed',
    steps: [
      step({
        title: message,
        outcome: 'failed',
        place: file === null ? none : place(12, 5, file),
        exchanges: [],
        checks: [
          check({ subject: 'secret-key-served', passed: false, expected: 'none', actual: message, hint: 'Revoke it.' }),
        ],
      }),
    ],
    ...given,
  })
}

test('a finding with a place in a source', async () => {
  const { results, rules, notifications, isSuccessful, id } = await readSarif(
    run([finding('src/app.js')], { command: 'observe' }),
  )
  expect(id).toBe('svc-observe/')
  expect([isSuccessful, notifications]).toEqual([true, []])
  expect(rules).toEqual([
    {
      id: 'observe/secret-key-served',
      shortDescription: { text: 'no served file contains a secret key' },
      help: {
        text: 'Revoke it. More: svc docs rules/secret-key-served',
        markdown: 'Revoke it.\n\nMore: `svc docs rules/secret-key-served`',
      },
      helpUri: 'http://127.0.0.1:4010/_sandbox/docs/rules/secret-key-served',
      defaultConfiguration: { level: 'error' },
      properties: { tags: ['error'] },
    },
  ])
  expect(results).toEqual([
    {
      ruleId: 'observe/secret-key-served',
      ruleIndex: 0,
      level: 'error',
      message: { text: 'http://localhost/app.js:1 contains the secret key sk_test_…. Revoke it.' },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: 'src/app.js', uriBaseId: '%SRCROOT%' },
            region: { startLine: 12, startColumn: 5 },
          },
        },
      ],
      partialFingerprints: { 'svcFinding/v1': expect.stringMatching(/^[0-9a-f]{64}$/) },
    },
  ])
})

test.each([null, 'builtin:beacons', '-'])(
  'a finding in %j has no place: it is a notification, and no result',
  async (file) => {
    const { results, notifications, rules } = await readSarif(run([finding(file)]))
    expect(results).toEqual([])
    expect(rules).toHaveLength(1)
    expect(notifications).toEqual([
      {
        level: 'error',
        message: {
          text: 'http://localhost/app.js:1 contains the secret key sk_test_…. Revoke it. (It has no place in a file of the project.)',
        },
        associatedRule: { id: 'observe/secret-key-served' },
      },
    ])
  },
)

test('the line of a check comes before that of its step, and every failed check is a result', async () => {
  const { results } = await readSarif(run([item(), failedItem()]))
  expect(results.map(({ locations }) => locations[0]?.physicalLocation.region)).toEqual([
    { startLine: 39, startColumn: 13 },
  ])
  expect(results[0]?.message.text).toBe(
    'beacon visible, again: body.verdict: expected duplicate, actual accepted. The same event of one slot counts once.',
  )
})

test('a warning is of that level', async () => {
  const steps = [
    step({
      title: 'It costs.',
      reason: 'Do it.',
      place: place(3, 1, 'b.jsonl'),
      checks: [check({ actual: 'It costs.' })],
    }),
  ]
  const { results } = await readSarif(run([item({ reason: 'warning: It costs.', steps })]))
  expect(results.map(({ level, message }) => [level, message.text])).toEqual([['warning', 'It costs.']])
})

test('fingerprints do not change with lines, messages or other findings, and differ from each other', async () => {
  const moved = (item: CaseResult, line: number): CaseResult => ({
    ...item,
    steps: item.steps.map((each) => ({ ...each, place: { ...each.place, line } })),
  })
  const before = await readSarif(run([finding('src/app.js'), finding('src/app.js'), finding('src/b.js')]))
  const after = await readSarif(
    run([failedItem(), moved(finding('src/app.js'), 99), finding('src/app.js'), finding('src/b.js')], {
      started_at_ms: 0,
    }),
  )
  expect(new Set(fingerprints(before.results)).size).toBe(3)
  expect(fingerprints(after.results).slice(1)).toEqual(fingerprints(before.results))
})

test('a run with one of everything is valid', async () => {
  const { results, notifications, rules } = await readSarif(everything())
  const failures = everything().cases.filter(({ outcome }) => outcome === 'failed')
  expect(new Set(results.map(({ ruleId }) => ruleId)).size + notifications.length).toBe(failures.length)
  for (const { ruleId, ruleIndex } of results) expect(rules[ruleIndex].id).toBe(ruleId)
  expect(new Set(fingerprints(results)).size).toBe(results.length)
})

test('a run that looked at nothing did not succeed', async () => {
  const { isSuccessful, notifications } = await readSarif(run([]))
  expect(isSuccessful).toBe(false)
  expect(notifications).toEqual([
    { level: 'error', message: { text: 'Nothing was checked: no case could be judged.' } },
  ])
})

test('the schema refuses what readers would not understand', async () => {
  const { document } = await readSarif(run([finding('src/app.js')]))
  const accepts = (change: (copy: typeof document) => void) => {
    const copy = structuredClone(document)
    change(copy)
    return schema.safeParse(copy).success
  }
  expect(accepts(() => {})).toBe(true)
  expect(accepts((copy) => (copy.runs[0].results[0].level = 'bad'))).toBe(false)
  expect(accepts((copy) => (copy.runs[0].results[0].locations[0].physicalLocation.region.startLine = 0))).toBe(false)
  expect(accepts((copy) => delete copy.runs[0].tool.driver.name)).toBe(false)
  expect(accepts((copy) => (copy.runs[0].results[0].more = 1))).toBe(false)
  expect(accepts((copy) => (copy.version = '2.0.0'))).toBe(false)
})
