/** The XML for build servers: valid, whatever came off the wire, and with the counts that the run has. */

import { readFileSync } from 'node:fs'
import { parse, type TestSuites } from 'junit2json'
import { expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { createReporters } from '#qa/report/reporters.ts'
import type { RunResult } from '#qa/result.ts'
import { check, everything, failedItem, hostile, item, run, step } from './results.ts'
import { reportRun, testTools } from './sinks.ts'

const schema = readFileSync(new URL('junit.xsd', import.meta.url), 'utf8')

async function readJunit(result: RunResult): Promise<string> {
  const tools = testTools()
  await reportRun(createReporters(['junit=report.xml'], tools), result)
  return tools.files.get('report.xml')!
}

async function listProblems(xml: string): Promise<string[]> {
  const { errors } = await validateXML({ xml: { fileName: 'report.xml', contents: xml }, schema })
  return errors.map(({ message }) => message)
}

test('a run with one of everything is valid', async () => {
  expect(await listProblems(await readJunit(everything()))).toEqual([])
})

test('a reader of such files finds every suite and case in it, and what failed', async () => {
  const result = everything()
  const read = (await parse(await readJunit(result))) as TestSuites
  const cases = (read.testsuite ?? []).flatMap(({ testcase = [] }) => testcase)
  const count = (outcome: string) => result.cases.filter((each) => each.outcome === outcome).length
  expect(read.tests).toBe(result.cases.length)
  expect(cases).toHaveLength(result.cases.length)
  expect(cases.filter(({ failure }) => failure !== undefined)).toHaveLength(count('failed'))
  expect(cases.filter(({ skipped }) => skipped !== undefined)).toHaveLength(count('not_applicable') + count('not_run'))
})

test('a run without cases is valid', async () => {
  expect(await listProblems(await readJunit(run([])))).toEqual([])
})

test('the schema refuses what readers would not understand', async () => {
  const xml = await readJunit(everything())
  for (const [from, to] of [
    ['time="1.234"', 'time="1234 ms"'],
    ['errors="0" ', ''],
    ['timestamp="2026-03-04T10:20:30"', 'timestamp="2026-03-04T10:20:30.400Z"'],
    ['<skipped ', '<ignored '],
    ['type="check"', ''],
  ] as const) {
    expect(xml).toContain(from)
    expect(await listProblems(xml.replace(from, to)), to).not.toEqual([])
  }
})

test('a case in full', async () => {
  const xml = await readJunit(run([item({ tags: ['beacons', 'smoke'], matrix: { format: 'clip' } }), failedItem()]))
  expect(xml).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="svc qa" tests="2" failures="1" errors="0" skipped="0" time="1.234">
<testsuite name="beacons" package="beacons" id="0" hostname="127.0.0.1:4010" timestamp="2026-03-04T10:20:30" tests="2" failures="1" errors="0" skipped="0" time="0.046">
<properties>
<property name="svc.version" value="0.1.0"/>
<property name="target.base_url" value="http://127.0.0.1:4010"/>
<property name="target.kind" value="fresh"/>
<property name="target.version" value="0.1.0"/>
<property name="target.key_mode" value="test"/>
</properties>
<testcase name="a visible beacon is accepted [format=clip]" classname="beacons" time="0.012">
<system-out>suites/beacons.yaml:3:3
tags: beacons, smoke
matrix: format=clip
placement: passed
  POST /v1/placements → 200 in 4 ms</system-out>
</testcase>
<testcase name="a beacon bills once" classname="beacons" time="0.034">
<failure message="beacon visible, again: body.verdict: expected duplicate, actual accepted" type="check">✗ beacons › a beacon bills once
  suites/beacons.yaml:30:5

  beacon visible, again  suites/beacons.yaml:36:9
  POST /v1/beacons → 202 in 4 ms
    body.verdict  suites/beacons.yaml:39:13
      expected  duplicate
      actual    accepted
      hint      The same event of one slot counts once.
  repeat it with
curl -sS &#39;http://127.0.0.1:4010/v1/beacons&#39;</failure>
<system-out>suites/beacons.yaml:30:5
placement: passed
  POST /v1/placements → 200 in 4 ms
beacon visible, again: failed
  POST /v1/beacons → 202 in 4 ms
ledger: not run</system-out>
</testcase>
<system-out/>
<system-err/>
</testsuite>
</testsuites>
`)
})

test('what did not run is skipped, and says why', async () => {
  const xml = await readJunit(everything())
  expect(xml).toContain('<skipped message="not applicable: needs a sandbox: the target is a service"/>')
  expect(xml).toContain('<skipped message="not run: stopped after 4 failures (--bail 4)"/>')
})

test('no control character, lone surrogate or markup is left', async () => {
  const texts = [hostile, '\ud800', '\uffff', ']]>', '\u0008']
  const xml = await readJunit(
    run(
      texts.map((text, index) =>
        failedItem({
          suite: `suite ${index} ${text}`,
          name: `name ${text}`,
          reason: text,
          steps: [
            step({ title: text, outcome: 'failed', checks: [check({ subject: text, passed: false, actual: text })] }),
          ],
        }),
      ),
    ),
  )
  expect(await listProblems(xml)).toEqual([])
  expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u)
  expect(xml).not.toContain('<script')
})

test('attempts of one case have names of their own', async () => {
  const xml = await readJunit(run([1, 2, 3].map((attempt) => item({ attempt }))))
  expect(xml.match(/<testcase name="[^"]*"/g)).toEqual([
    '<testcase name="a visible beacon is accepted"',
    '<testcase name="a visible beacon is accepted (attempt 2)"',
    '<testcase name="a visible beacon is accepted (attempt 3)"',
  ])
})
