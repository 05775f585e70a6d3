/** The reporter for programs: JSON with the whole result. */

import type { SourceLocation } from '#foundation/finding.ts'
import { jsonText } from '#text/terminal.ts'
import { type CaseExchange, countTotals, type Reporter, type RunResult } from '../result.ts'
import type { Destination } from './text.ts'

/** Writes indented JSON to files and terminals, one line to a pipe. Fields are always in the same order. */
export function createJsonReporter({ write, stream }: Destination): Reporter {
  const indent = stream === null || stream.is_terminal ? 2 : undefined
  return { end: (result) => write(`${jsonText(toJsonReport(result), indent)}\n`) }
}

/** Returns a run as plain JSON: screenshots as base64 of their PNG, and the totals beside the cases. */
function toJsonReport(result: RunResult) {
  return {
    ...pick(result, 'svc_version'),
    target: {
      ...pick(result.target, 'base_url', 'kind', 'version', 'key_mode'),
      ...(result.target.browser !== undefined && { browser: result.target.browser }),
    },
    ...pick(result, 'started_at_ms', 'duration_ms', 'interrupted'),
    totals: countTotals(result.cases),
    ...(result.observe_file !== undefined && { observe_file: result.observe_file }),
    cases: result.cases.map((item) => ({
      ...pick(item, 'id', 'suite', 'name'),
      place: toJsonPlace(item.place),
      ...pick(item, 'tags', 'matrix', 'attempt', 'outcome', 'reason', 'started_at_ms', 'duration_ms'),
      steps: item.steps.map((step) => ({
        ...pick(step, 'title'),
        place: toJsonPlace(step.place),
        ...pick(step, 'outcome', 'reason', 'duration_ms'),
        ...(step.accepted !== undefined && { accepted: step.accepted }),
        checks: step.checks.map((check) => ({
          ...pick(check, 'subject', 'passed', 'expected', 'actual', 'hint', 'response_reason'),
          place: check.place === undefined ? null : toJsonPlace(check.place),
        })),
        exchanges: step.exchanges.map(toJsonExchange),
        screenshots: step.screenshots.map((shot) => ({
          ...pick(shot, 'name', 'width', 'height'),
          png_base64: Buffer.from(shot.png).toString('base64'),
        })),
      })),
    })),
  }
}

function toJsonExchange(exchange: CaseExchange) {
  const sorted = (headers: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return {
    ...pick(exchange, 'method', 'url'),
    request_headers: sorted(exchange.request_headers),
    ...pick(exchange, 'request_body', 'status'),
    response_headers: sorted(exchange.response_headers),
    ...pick(exchange, 'response_body', 'error', 'duration_ms', 'curl'),
  }
}

function toJsonPlace(place: SourceLocation) {
  return pick(place, 'file', 'line', 'column')
}

/** Returns fields of an object in this order; null for one that is not there. */
function pick<T extends object>(value: T, ...names: (keyof T & string)[]) {
  return Object.fromEntries(names.map((name) => [name, value[name] ?? null]))
}
