/** Markdown for pull requests: the verdict first, never over 60 kB, and foreign text is neither markup nor a mention. */
import { marked } from 'marked'
import { expect, test } from 'vitest'
import { readEarlierRun } from '#qa/report/changes.ts'
import { createReporters } from '#qa/report/reporters.ts'
import type { CaseResult, RunResult } from '#qa/result.ts'
import { check, everything, exchange, failedItem, hostile, item, place, run, step } from './results.ts'
import { reportRun, type TestTools, testTools } from './sinks.ts'

async function readMarkdown(result: RunResult, tools: TestTools = testTools()): Promise<string> {
  await reportRun(createReporters(['markdown=qa.md'], tools), result)
  return tools.files.get('qa.md')!
}

const limit = 60_000

test('a failed run in full', async () => {
  expect(await readMarkdown(run([item(), failedItem()]))).toBe(`## ❌ svc qa run: 1 of 2 cases failed

Looked at 2 cases with 6 checks: 1 failed, 1 passed, in 1.23 s.

Against \`a fresh sandbox 0.1.0 at http://127.0.0.1:4010, test key\`.

### 1 failure

<details><summary><code>beacons › a beacon bills once</code>: <code>beacon visible, again: body.verdict: expected duplicate, actual accepted</code></summary>

\`\`\`text
  suites/beacons.yaml:30:5

  beacon visible, again  suites/beacons.yaml:36:9
  POST /v1/beacons → 202 in 4 ms
    body.verdict  suites/beacons.yaml:39:13
      expected  duplicate
      actual    accepted
      hint      The same event of one slot counts once.
\`\`\`

Repeat it with:

\`\`\`sh
curl -sS 'http://127.0.0.1:4010/v1/beacons'
\`\`\`

</details>
`)
})

test('a finding is in its own words, and what was not judged is folded', async () => {
  const message = 'POST /v1/beacons has client, which the contract does not define.'
  const finding = step({
    title: message,
    outcome: 'failed',
    place: place(12, 5, 'src/app.js'),
    checks: [
      check({
        subject: 'unknown-fields',
        passed: false,
        expected: 'a title',
        actual: `${message} (req_1)`,
        hint: 'Remove it.',
      }),
    ],
  })
  const cases = [
    item({
      id: 'observe/unknown-fields',
      suite: 'observe',
      name: 'a title',
      outcome: 'failed',
      steps: [finding, finding],
    }),
    item({ id: 'observe/live-key', suite: 'observe', outcome: 'not_applicable', reason: 'not seen: a key', steps: [] }),
  ]
  const text = await readMarkdown(run(cases, { command: 'observe', looked_at: '3 requests of npm test' }))
  const block = `src/app.js:12:5\n${message} (req_1)\nRemove it.\nPOST /v1/placements → 200 in 4 ms\n`
  expect(text).toContain('## ❌ svc observe: 1 of 2 rules failed\n')
  expect(text).toContain('Looked at `3 requests of npm test`; 2 rules: 1 failed, 1 not applicable, in 1.23 s.\n')
  expect(text).toContain(`<summary><code>observe › a title</code>: <code>${message}</code></summary>\n`)
  expect(text).toContain(`\n\`\`\`text\n${block}\n${block}\`\`\`\n`)
  expect(text).toContain('\nThe commands of 1 other failed step are left out.\n')
  expect(text).toContain(
    '\n<details><summary>1 not judged, and why</summary>\n\n- 1 not applicable: `not seen: a key`\n\n</details>\n',
  )
  expect(strayText(text)).toEqual([])
})

test.each([
  ['a run that passed', run([item()]), '## ✅ svc qa run: passed'],
  [
    'a warning',
    run([item({ reason: 'warning: it costs something' })], { command: 'observe' }),
    '## ✅ svc observe: passed with 1 warning',
  ],
  ['no cases', run([]), '## ❌ svc qa run: nothing was checked'],
  [
    'no case that applies',
    run([item({ outcome: 'not_applicable', reason: 'needs a browser', steps: [] })]),
    '## ❌ svc qa run: nothing was checked',
  ],
  ['an interrupt', run([item()], { interrupted: 'SIGINT' }), '## ❌ svc qa run: failed'],
  ['a command that failed', run([item()], { failed_because: ['npm test ended with 1.'] }), '## ❌ svc qa run: failed'],
] as const)('the verdict of %s', async (_, result, line) => {
  expect((await readMarkdown(result)).split('\n')[0]).toBe(line)
})

test('why a run fails without a failed case is said', async () => {
  const text = await readMarkdown(
    run([item()], { interrupted: 'SIGINT', failed_because: ['npm test ended with exit code 1.'] }),
  )
  expect(text).toContain('- ❌ `Interrupted by SIGINT: the run is incomplete.`\n')
  expect(text).toContain('- ❌ `npm test ended with exit code 1.`\n')
  expect(await readMarkdown(run([]))).toContain('- ❌ `Nothing was checked: no case could be judged.`\n')
})

test('what changed against an earlier run, from either format', async () => {
  const named = (name: string, outcome: CaseResult['outcome']) => item({ name, id: `shop/${name}`, outcome })
  const before = run([named('a', 'passed'), named('b', 'failed'), named('c', 'failed'), named('d', 'failed')])
  const after = run([named('a', 'failed'), named('b', 'failed'), named('c', 'passed'), named('e', 'failed')])
  const tools = testTools()
  await reportRun(createReporters(['ctrf=a.ctrf.json', 'json=a.json'], tools), before)
  for (const file of ['a.ctrf.json', 'a.json']) {
    const earlier = readEarlierRun(JSON.parse(tools.files.get(file)!), file)
    const now = testTools({ earlier })
    expect(await readMarkdown(after, now)).toContain(`### Changed against the last run

1 newly failing, 1 failing and not in the last run, 1 still failing, 1 newly passing, 1 failed last time and not judged now, compared with \`${file}\`.

- newly failing: \`shop/a\`

- failing and not in the last run: \`shop/e\`

- still failing: \`shop/b\`

- newly passing: \`shop/c\`

- failed last time and not judged now: \`shop/d\`
`)
    expect(now.err()).toContain(`compared with ${file}: 1 newly failing, 1 failing and not in the last run`)
  }
  expect(await readMarkdown(run([item()]), testTools({ earlier: { file: 'a', endings: new Map() } }))).toContain(
    'no change, and nothing fails, compared with `a`.',
  )
})

test('an attempt that failed counts, whatever the others did', async () => {
  const attempts = ['passed', 'failed', 'passed'].map((outcome, index) =>
    item({ attempt: index + 1, outcome: outcome as CaseResult['outcome'] }),
  )
  const tools = testTools()
  await reportRun(createReporters(['ctrf=a.json'], tools), run(attempts))
  const earlier = readEarlierRun(JSON.parse(tools.files.get('a.json')!), 'a.json')
  expect([...earlier.endings.values()]).toEqual(['failed'])
})

test.each([[{}], [[]], [null], [{ results: { tests: [{ name: 'a' }] } }]])('%j is no earlier run', (document) => {
  expect(() => readEarlierRun(document, 'a.json')).toThrow('a.json is not a report of an earlier run.')
})

test('2,000 failures with huge texts stay under 60 kB, and what is left out is counted', async () => {
  const huge = `${'`'.repeat(50)}${'🦜'.repeat(1_000)}${hostile}\n${'x'.repeat(20_000)}`
  const failures = Array.from({ length: 2_000 }, (_, index) =>
    failedItem({
      id: `huge/${index}`,
      suite: index % 2 === 0 ? `suite ${index} ${huge}` : 'huge',
      name: `${index} ${huge}`,
      reason: index % 3 === 0 ? huge : null,
      steps: [
        step({
          outcome: 'failed',
          checks: [check({ passed: false, expected: huge, actual: huge, hint: huge })],
          exchanges: [exchange({ curl: index % 2 === 0 ? `curl ${huge}` : 'curl -sS http://127.0.0.1' })],
        }),
      ],
    }),
  )
  const earlier = { file: huge, endings: new Map(failures.map(({ id }) => [`${id}${huge}`, 'failed' as const])) }
  const result = run(failures, { failed_because: Array.from({ length: 500 }, () => huge), looked_at: huge })
  const text = await readMarkdown(result, testTools({ earlier }))
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit)
  expect(Buffer.byteLength(text)).toBeGreaterThan(limit / 2)
  const [, shown, left] = /The first (\d+) are in full, and the other (\d+) are not/.exec(text)!
  expect(Number(shown) + Number(left)).toBe(2_000)
  expect(text.match(/<details>/g)).toHaveLength(Number(shown))
  const named = text.match(/^- `+ ?(suite|huge) /gm)!.length
  const [, more] = /^- … and (\d+) more \(failures\)$/m.exec(text)!
  expect(Number(shown) + named + Number(more)).toBe(2_000)
  expect(text).toMatch(/^- … and \d+ more \(reasons\)$/m)
  expect(text).toMatch(/^- … and \d+ more \(failing and not in the last run\)$/m)
  expect(strayText(text)).toEqual([])
})

test('one failure with a huge text says how much is left out', async () => {
  const text = await readMarkdown(
    run([
      failedItem({
        steps: [
          step({
            outcome: 'failed',
            reason: 'y\n'.repeat(50_000),
            checks: [],
            exchanges: [exchange({ curl: `curl ${'z'.repeat(20_000)}` })],
          }),
        ],
      }),
    ]),
  )
  expect(text).toMatch(/^… \d+ kB more: --reporter html=qa\.html has it$/m)
  expect(text).toContain('The command that repeats it has 20 kB, too long for here')
})

const attacks = [
  hostile,
  '@everyone @octocat #1 GH-1 https://evil.test www.evil.test mail@evil.test',
  '```\n# heading\n```',
  '~~~\n<img src=x>\n~~~',
  '` @octocat `',
  '``````',
  '</details></summary><h1>passed</h1>',
  '\n\n# ✅ passed\n\n',
  '| a | b |\n|---|---|\n| c | d |',
  '[link](javascript:alert(1)) ![image](http://evil.test/a.png) [ref]: http://evil.test',
  '<!-- svc-qa --> <!--',
  '\\` \\| \\',
  '&lt;b&gt; &#64;octocat',
  '1. one\n- two\n> three\n    four',
  '\u202egnp.exe \u0007 \ud800',
]

test.each(attacks)('%j is shown, and does nothing', async (text) => {
  const cases = [
    failedItem({
      suite: text,
      name: text,
      tags: [text],
      matrix: { value: text },
      reason: text,
      place: { file: text, line: 1, column: 1 },
      steps: [
        step({
          title: text,
          outcome: 'failed',
          reason: text,
          checks: [check({ subject: text, passed: false, expected: text, actual: [text], hint: text })],
          exchanges: [exchange({ url: text, curl: text, error: text, status: 0 })],
        }),
      ],
    }),
    item({ suite: `${text}2`, name: text, reason: text }),
    item({ suite: text, name: text, id: 'other', outcome: 'not_run', reason: text }),
    item({ suite: text, name: 'flaky', id: text, attempt: 1 }),
    failedItem({ suite: text, name: 'flaky', id: text, attempt: 2 }),
  ]
  const result = run(cases, { looked_at: text, failed_because: [text], interrupted: text })
  const earlier = { file: text, endings: new Map([[text, 'passed' as const]]) }
  const markdown = await readMarkdown(result, testTools({ earlier }))
  expect(strayText(markdown)).toEqual([])
  expect(markdown.match(/^## /gm)).toHaveLength(1)
})

test('a run with one of everything has nothing outside of code that is not our own', async () => {
  expect(strayText(await readMarkdown(everything()))).toEqual([])
})

/**
 * Returns what is wrong in the page that Markdown becomes: elements that a report has no use for, attributes, and text
 * outside of code that is not in our own words.
 */
function strayText(markdown: string): string[] {
  const html = marked.parse(markdown, { async: false, gfm: true })
  const withoutCode = html
    .replace(/<pre><code class="language-(text|sh)">[^<]*<\/code><\/pre>/g, '')
    .replace(/<code>[^<]*<\/code>/g, '·')
  const tags = (withoutCode.match(/<[^>]*>/g) ?? []).filter(
    (tag) => !/^<\/?(h2|h3|p|ul|li|details|summary)>$/.test(tag),
  )
  const words = withoutCode.replace(/<[^>]*>/g, '')
  const foreign = words.match(/[@<>`#|\\[\]]|https?:|evil|octocat|heading|javascript|passed<\/h1>/g) ?? []
  const opened = withoutCode.match(/<details>/g)?.length ?? 0
  const closed = withoutCode.match(/<\/details>/g)?.length ?? 0
  return [...tags, ...foreign, ...(opened === closed ? [] : [`${opened} opened, ${closed} closed`])]
}
