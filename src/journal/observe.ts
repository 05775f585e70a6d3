/** Verdicts as the result of a run: each rule is a case, each finding a step with the requests that show it. */
import type { Json } from '../foundation/json.ts'
import type { CaseResult, Exchange, RunResult, StepResult } from '../qa/result.ts'
import type { Exchange as Seen } from './exchange.ts'
import { fixOf, type Standing, type Verdict } from './observe/judge.ts'
import type { Finding, Observed } from './rule.ts'

export interface ResultOptions {
  target: RunResult['target']
  svc_version: string
  /** Epoch milliseconds of the machine's clock. */
  started_at_ms: number
  ended_at_ms: number
  /** Warnings fail too. */
  is_strict: boolean
  /** The command that sends a request again. */
  curl(request: { method: string; url: string; headers: Record<string, string>; body: string | null }): string
}

/** Requests that a finding shows in full; the list has the ids of more. */
const shownRequests = 5

export function resultOf(verdicts: readonly Verdict[], observed: Observed, options: ResultOptions): RunResult {
  const { target, svc_version, started_at_ms, ended_at_ms } = options
  return {
    target,
    svc_version,
    started_at_ms,
    duration_ms: ended_at_ms - started_at_ms,
    cases: verdicts.map((verdict) => caseOf(verdict, observed, options)),
    interrupted: null,
  }
}

/** A breach of a warning's rule passes, with the reason told, unless warnings are to fail. */
function caseOf(verdict: Verdict, observed: Observed, options: ResultOptions): CaseResult {
  const { name, rule, standing, findings, notes = [] } = verdict
  const outcome = outcomeOf(standing, options)
  return {
    id: `observe/${name}`,
    suite: 'observe',
    name: rule.title,
    place: placeOf(verdict),
    tags: [standing],
    matrix: {},
    attempt: 1,
    outcome,
    reason: reasonOf(verdict),
    started_at_ms: options.started_at_ms,
    duration_ms: 0,
    steps: [
      ...findings.map((finding) => stepOf(verdict, finding, outcome, observed, options)),
      ...(findings.length > 0 || standing === 'not_seen' ? [] : [holdingStep(verdict, notes)]),
    ],
  }
}

function outcomeOf(standing: Standing, { is_strict }: ResultOptions): CaseResult['outcome'] {
  if (standing === 'not_seen') return 'not_applicable'
  return standing === 'error' || (standing === 'warning' && is_strict) ? 'failed' : 'passed'
}

function reasonOf({ standing, rule, findings }: Verdict): string | null {
  if (standing === 'not_seen') return `not seen: ${rule.needs}`
  return standing === 'warning' ? `warning: ${findings.map(({ seen }) => seen).join(' ')}` : null
}

/** There is no file to point at: the rule stands for it. */
function placeOf({ name }: Verdict) {
  return { file: `observe/${name}`, line: 0, column: 0 }
}

function stepOf(
  verdict: Verdict,
  finding: Finding,
  outcome: CaseResult['outcome'],
  { page }: Observed,
  options: ResultOptions,
): StepResult {
  const picture = finding.requests.length === 0 ? page?.screenshot : null
  return {
    title: finding.seen,
    place: placeOf(verdict),
    outcome,
    reason: null,
    duration_ms: 0,
    exchanges: finding.requests.slice(0, shownRequests).map((each) => exchangeOf(each, options)),
    checks: [
      {
        subject: verdict.name,
        passed: outcome !== 'failed',
        expected: verdict.rule.title,
        actual: actualOf(finding),
        hint: `${fixOf(verdict, finding)} ${verdict.rule.costs}`,
      },
    ],
    screenshots: picture === null || picture === undefined ? [] : [picture],
  }
}

function actualOf({ seen, requests }: Finding): Json {
  return requests.length === 0 ? seen : `${seen} (${requests.map(({ request_id }) => request_id).join(', ')})`
}

function holdingStep(verdict: Verdict, notes: readonly string[]): StepResult {
  const { rule, looked_at, name } = verdict
  return {
    title: rule.title,
    place: placeOf(verdict),
    outcome: 'passed',
    reason: null,
    duration_ms: 0,
    exchanges: [],
    checks: [
      {
        subject: name,
        passed: true,
        expected: rule.title,
        actual: [`judged by ${looked_at} of: ${rule.needs.replace(/^an? /, '')}`, ...notes].join('; '),
      },
    ],
    screenshots: [],
  }
}

/** Headers that every client sets for itself. */
const ownHeaders = new Set(['host', 'connection', 'content-length', 'accept-encoding'])

function exchangeOf({ method, path, status, duration_ms, detail }: Seen, { target, curl }: ResultOptions): Exchange {
  const url = target.base_url + path
  const request_body = textOf(detail?.request_body)
  const request_headers = { ...detail?.request_headers }
  const sent = Object.entries(request_headers).filter(([name]) => !ownHeaders.has(name))
  const headers = Object.fromEntries(
    sent.map(([name, value]) => [name, value.replace(/^Bearer sk_(test|live)_redacted$/, 'Bearer $SVC_SECRET_KEY')]),
  )
  return {
    method,
    url,
    request_headers,
    request_body,
    status,
    response_headers: { ...detail?.response_headers },
    response_body: textOf(detail?.response_body),
    error: status === 0 ? 'the connection was broken' : null,
    duration_ms,
    curl: curl({ method, url, headers, body: request_body }),
  }
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}
