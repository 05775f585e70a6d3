/** `svc qa observe`: judges an integration by every rule about requests and pages, and returns the verdicts as a run of a suite. */
import type { CaseResult, Check, Outcome, RunResult, Exchange as SentExchange, StepResult } from '../qa/result.ts'
import type { Exchange } from './exchange.ts'
import type { PageSeen } from './facts/page.ts'
import type { AnyRule, Finding, Judgement, Observed } from './rule.ts'
import { observeRules } from './rules/index.ts'

export interface Watched extends Observed {
  /** Null without a browser. */
  page: PageSeen | null
}

/** `not_seen`: there was nothing to judge it by, which is not a pass. */
export type Standing = 'error' | 'warning' | 'holds' | 'not_seen'

export interface Verdict extends Judgement {
  rule: AnyRule
  standing: Standing
}

/** Returns the verdicts in the order of the rules: those about the page first. */
export function judge(watched: Watched): Verdict[] {
  return Object.values(observeRules).map((rule) => {
    const judgement = judgementOf(rule, watched)
    const findings = judgement.findings.map((finding) => withEvidence(finding, watched))
    return { rule, ...judgement, findings, standing: standingOf(rule, judgement) }
  })
}

/** Lists each request of a finding once, the oldest first: of three repetitions, the second repeats and is repeated. */
function withEvidence(finding: Finding, { exchanges }: Watched): Finding {
  if (finding.requests === undefined) return finding
  const shown = new Set(finding.requests)
  return { ...finding, requests: exchanges.filter((exchange) => shown.has(exchange)) }
}

function judgementOf(rule: (typeof observeRules)[keyof typeof observeRules], watched: Watched): Judgement {
  const { page } = watched
  if (rule.facts === 'journal') return rule.judge(watched)
  if (page === null) return { looked_at: 0, findings: [] }
  if (rule.facts === 'page') return rule.judge({ page, observed: watched })
  return rule.judge({ ...page, place: page.url, problem: null })
}

function standingOf({ severity }: AnyRule, { findings, looked_at }: Judgement): Standing {
  if (findings.length > 0) return severity
  return looked_at === 0 ? 'not_seen' : 'holds'
}

/** Whether a rule is about the page, and not about requests. */
export function isAboutPage({ facts }: AnyRule): boolean {
  return facts === 'page' || facts === 'served'
}

export interface ResultOptions {
  target: RunResult['target']
  svc_version: string
  /** Epoch milliseconds of the system clock. */
  started_at_ms: number
  ended_at_ms: number
  /** Warnings fail too. */
  is_strict: boolean
  /** Returns the command that sends a request again. */
  curl(request: { method: string; url: string; headers: Record<string, string>; body: string | null }): string
}

/** Returns the verdicts as a run of a suite: each rule is a case, each finding a step with the requests that show it. */
export function resultOf(verdicts: readonly Verdict[], watched: Watched, options: ResultOptions): RunResult {
  const { target, svc_version, started_at_ms, ended_at_ms } = options
  return {
    target,
    svc_version,
    started_at_ms,
    duration_ms: ended_at_ms - started_at_ms,
    cases: verdicts.map((verdict) => caseOf(verdict, watched, options)),
    interrupted: null,
  }
}

/** A violated rule whose severity is warning passes, with the reason, unless warnings fail. */
function caseOf(verdict: Verdict, watched: Watched, options: ResultOptions): CaseResult {
  const { rule, standing, findings } = verdict
  const outcome = outcomeOf(standing, options)
  return {
    id: `observe/${rule.id}`,
    suite: 'observe',
    name: rule.title,
    place: placeOf(rule),
    tags: [standing],
    matrix: {},
    attempt: 1,
    outcome,
    reason: reasonOf(verdict),
    started_at_ms: options.started_at_ms,
    duration_ms: 0,
    steps:
      standing === 'holds'
        ? [holdingStep(verdict)]
        : findings.map((finding) => violationStep(rule, finding, outcome, watched, options)),
  }
}

function outcomeOf(standing: Standing, { is_strict }: ResultOptions): Outcome {
  if (standing === 'not_seen') return 'not_applicable'
  return standing === 'error' || (standing === 'warning' && is_strict) ? 'failed' : 'passed'
}

function reasonOf({ standing, rule, findings }: Verdict): string | null {
  if (standing === 'not_seen') return `not seen: ${rule.needs}`
  return standing === 'warning' ? `warning: ${findings.map(({ message }) => message).join(' ')}` : null
}

/** There is no suite file: the id of the rule stands for it. */
function placeOf({ id }: AnyRule): CaseResult['place'] {
  return { file: `observe/${id}`, line: 0, column: 0 }
}

/** How many requests of a finding are shown in full; its text has the ids of all. */
const maxExchanges = 5

function violationStep(
  rule: AnyRule,
  { message, fix = rule.fix, requests = [] }: Finding,
  outcome: Outcome,
  { page }: Watched,
  options: ResultOptions,
): StepResult {
  const screenshot = requests.length === 0 ? (page?.screenshot ?? null) : null
  const ids = requests.map(({ request_id }) => request_id).join(', ')
  const actual = ids === '' ? message : `${message} (${ids})`
  return {
    ...stepOf(rule, message, outcome, { actual, hint: `${fix} ${rule.costs}` }),
    reason: outcome === 'passed' ? `${message}\n${fix} ${rule.costs}` : null,
    exchanges: requests.slice(0, maxExchanges).map((each) => sentExchange(each, options)),
    screenshots: screenshot === null ? [] : [screenshot],
  }
}

function holdingStep({ rule, looked_at, notes = [] }: Verdict): StepResult {
  const basis = `judged by ${looked_at} of: ${rule.needs?.replace(/^an? /, '')}`
  return stepOf(rule, rule.title, 'passed', { actual: [basis, ...notes].join('; ') })
}

function stepOf(rule: AnyRule, title: string, outcome: Outcome, check: Pick<Check, 'actual' | 'hint'>): StepResult {
  return {
    title,
    place: placeOf(rule),
    outcome,
    reason: null,
    duration_ms: 0,
    exchanges: [],
    checks: [{ subject: rule.id, passed: outcome !== 'failed', expected: rule.title, ...check }],
    screenshots: [],
  }
}

/** Headers that every client sets for itself. */
const ownHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'accept-encoding'])

function sentExchange(exchange: Exchange, { target, curl }: ResultOptions): SentExchange {
  const { method, path, status, duration_ms, request_headers, response_headers } = exchange
  const url = target.base_url + path
  const request_body = textOf(exchange.request_body)
  const sent = Object.entries(request_headers).filter(([name]) => !ownHeaders.has(name))
  const headers = Object.fromEntries(
    sent.map(([name, value]) => [name, value.replace(/^Bearer sk_(test|live)_redacted$/, 'Bearer $SVC_SECRET_KEY')]),
  )
  return {
    method,
    url,
    request_headers: { ...request_headers },
    request_body,
    status,
    response_headers: { ...response_headers },
    response_body: textOf(exchange.response_body),
    error: status === 0 ? 'the connection was broken' : null,
    duration_ms,
    curl: curl({ method, url, headers, body: request_body }),
  }
}

function textOf(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}
