import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SuiteError } from '#yaml/problems.ts'
import { loadSuite } from '../suite/load.ts'
import { rendererEvents } from './schema.ts'
import { eventText } from './steps.ts'

function problems(step: string): string[] {
  try {
    loadSuite(`suite: shop\ntitle: A shop\ncases:\n  - name: one\n    steps:\n      - ${step}\n`, 'x', '/')
    return []
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    return error.message.split('\n')
  }
}

test('the events are those that docs/renderer.md lists', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../docs/renderer.md'), 'utf8')
  const table = text.slice(text.indexOf('## Events'), text.indexOf('### error'))
  const rows = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell]) => cell!.match(/[a-z_:]+/g) ?? [])
  expect(rows.toSorted()).toEqual([...rendererEvents].toSorted())
})

/** Errors of a page, a browser or a network that no suite can make: tests/browser/codes.test.ts provokes them. */
const beyondSuites = ['engine_unsupported', 'origin_opaque', 'script_incomplete']
/** The suite `beacons` has it without a page. */
const beyondPages = ['consent_revision_mismatch']

test('the suites provoke every error and every block that docs/renderer.md lists', () => {
  const read = (file: string) => readFileSync(join(import.meta.dirname, '../../../..', file), 'utf8')
  const docs = read('docs/renderer.md')
  const listCodes = (from: string, to: string) =>
    [...docs.slice(docs.indexOf(from), docs.indexOf(to)).matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code!)
  const suites = ['renderer', 'renderer-turns'].map((name) => read(`src/judge/qa/suites/${name}.yaml`)).join('')
  const codes = listCodes('### error', '### beacon')
  const reasons = listCodes('### blocked', '## Appearance')
  expect([codes.length, reasons.length]).toEqual([25, 7])
  expect(codes.filter((code) => !suites.includes(`code: ${code}`))).toEqual(beyondSuites)
  expect(reasons.filter((reason) => !suites.includes(`reason: ${reason}`))).toEqual(beyondPages)
})

test.each([
  '{ browser: {}, do: { wait_for: rendered } }',
  '{ browser: { of: null, color_scheme: dark, slot_width: 160 }, do: [{ hidden: true }, { scroll: 0.3 }] }',
  '{ browser: { turn: {}, endpoint: /api, serve: { /api: [{ status: 503 }, { body: { ok: true } }] } } }',
  '{ page: [{ none_of: [error, { type: beacon, event: visible }] }, { screenshot: { name: a, matches: a.png } }] }',
])('good: %s', (step) => {
  expect(problems(step)).toEqual([])
})

test.each([
  ['{ browser: {}, do: { wait_for: renderd } }', /^x:6:40: do.wait_for .*Did you mean rendered\?/],
  ['{ browser: {}, do: [{ wait: 1ms }, { none_of: [shown] }] }', /^x:6:56: do.1.none_of.0 .*Known: turn:started,/],
  ['{ browser: { widht: 3 } }', /widht/],
  ['{ browser: { serve: { api: {} } } }', /paths of it, each beginning with \//],
  ['{ page: { scroll: 2 } }', /^x:6:27: page.scroll/],
  ['{ page: { click: label } }', /click/],
  ['{ page: { screenshot: { name: a, matches: a.jpg } } }', /png/],
  ['{ page: [] }', /page/],
])('reported by its place: %s', (step, message) => {
  expect(problems(step).join('\n')).toMatch(message)
})

test.each([
  [{ type: 'rendered' }, 'rendered'],
  [{ type: 'error', code: 'request_failed', status: 404, reason_code: 'http_404' }, 'error request_failed http_404'],
  [{ type: 'blocked', reason: 'consent_expired' }, 'blocked consent_expired'],
  [{ type: 'beacon', event: 'render', accepted: true, reason_code: 'OK' }, 'beacon render accepted'],
  [
    { type: 'beacon', event: 'click', accepted: false, reason_code: 'beacon_stale' },
    'beacon click rejected: beacon_stale',
  ],
])('an event in words: %o', (event, words) => {
  expect(eventText(event as never)).toBe(words)
})
