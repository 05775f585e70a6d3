/** The whole result as one JSON document, fields always in the same order. */

import {
  type CaseResult,
  type Check,
  type Exchange,
  type Place,
  type Reporter,
  type RunResult,
  totalsOf,
} from '../result.ts'
import type { Destination } from './text.ts'

/** Writes indented JSON to files and terminals, one line to a pipe. */
export function createJsonReporter({ write, stream }: Destination): Reporter {
  const indent = stream === null || stream.is_terminal ? 2 : undefined
  return { end: (result) => write(`${JSON.stringify(documentOf(result), null, indent)}\n`) }
}

/** Returns a run as plain JSON: screenshots as base64 of their PNG, and the totals beside the cases. */
function documentOf({ svc_version, target, started_at_ms, duration_ms, interrupted, cases }: RunResult) {
  return {
    svc_version,
    target: { base_url: target.base_url, kind: target.kind, version: target.version, key_mode: target.key_mode },
    started_at_ms,
    duration_ms,
    interrupted,
    totals: totalsOf(cases),
    cases: cases.map(caseOf),
  }
}

function caseOf(item: CaseResult) {
  return {
    id: item.id,
    suite: item.suite,
    name: item.name,
    place: placeOf(item.place),
    tags: item.tags,
    matrix: item.matrix,
    attempt: item.attempt,
    outcome: item.outcome,
    reason: item.reason,
    started_at_ms: item.started_at_ms,
    duration_ms: item.duration_ms,
    steps: item.steps.map((step) => ({
      title: step.title,
      place: placeOf(step.place),
      outcome: step.outcome,
      reason: step.reason,
      duration_ms: step.duration_ms,
      checks: step.checks.map(checkOf),
      exchanges: step.exchanges.map(exchangeOf),
      screenshots: step.screenshots.map(({ name, width, height, png }) => ({
        name,
        width,
        height,
        png_base64: Buffer.from(png).toString('base64'),
      })),
    })),
  }
}

function checkOf({ subject, passed, expected, actual, hint, place }: Check) {
  return { subject, passed, expected, actual, hint: hint ?? null, place: place === undefined ? null : placeOf(place) }
}

function exchangeOf(exchange: Exchange) {
  return {
    method: exchange.method,
    url: exchange.url,
    request_headers: sorted(exchange.request_headers),
    request_body: exchange.request_body,
    status: exchange.status,
    response_headers: sorted(exchange.response_headers),
    response_body: exchange.response_body,
    error: exchange.error,
    duration_ms: exchange.duration_ms,
    curl: exchange.curl,
  }
}

function placeOf({ file, line, column }: Place) {
  return { file, line, column }
}

function sorted(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
