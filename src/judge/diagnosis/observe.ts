/**
 * `svc observe`: judges an integration by every rule about requests and pages. Returns the verdicts as a run of a
 * suite, for all reporters, and prints them as a separate list.
 */

import { withoutQuery } from '#foundation/http.ts'
import type { CaseResult, Check, Outcome, RunResult, CaseExchange as SentExchange, StepResult } from '#qa/result.ts'
import { withCommandName } from '#text/command-name.ts'
import { plural } from '#text/text.ts'
import type { JournaledExchange } from './exchange.ts'
import type { PageSeen } from './facts/page.ts'
import type { RendererSource, ServedFiles } from './facts/served-files.ts'
import type { AnyRule, Judgement, Observed, RuleFinding } from './rule.ts'
import { observeRules, type PageRuleId } from './rules/index.ts'
import { isOwnLoss } from './rules/renderer-errors.ts'

export interface Watched extends Observed {
  /** Null without a browser. */
  page: PageSeen | null
  /** The files of each place that was named, besides those that the browser got. */
  served?: readonly (ServedFiles & RendererSource)[]
}

/**
 * `not_seen`: there was nothing to judge it by, which is not a pass. `accepted`: every finding is accepted by
 * `svc.observe.yaml`; `off`: the rule does not apply, by the same file.
 */
type Standing = 'error' | 'warning' | 'accepted' | 'holds' | 'not_seen' | 'off'

export interface Verdict extends Judgement {
  rule: AnyRule
  standing: Standing
  /** The rule whose finding explains those of this one, which are left out. */
  follows: string | null
}

/** Returns how much was looked at: `57 requests, 12 served files`. */
export function countLookedAt({ exchanges, served = [] }: Pick<Watched, 'exchanges' | 'served'>): string {
  const requests = plural(exchanges.length, 'request')
  return served.length === 0 ? requests : `${requests}, ${plural(countFiles(served), 'served file')}`
}

function countFiles(served: Watched['served'] = []): number {
  return served.reduce((sum, { files }) => sum + files, 0)
}

/** Returns the verdicts in the order of the rules: those about the page first. */
export function judge(watched: Watched): Verdict[] {
  const verdicts = Object.values(observeRules).map((rule): Verdict => {
    const judgement = judgeRule(rule, watched)
    const named = <Given extends { fix?: string }>(given: Given) =>
      given.fix === undefined ? given : { ...given, fix: withCommandName(given.fix, watched.command_name) }
    const findings = judgement.findings.map((finding) => withEvidence(named(finding), watched))
    return { rule: named(rule), ...judgement, findings, standing: decideStanding(rule, judgement), follows: null }
  })
  return watched.page === null ? verdicts : withoutConsequences(verdicts, watched.page)
}

/** Why an ad cannot be seen in a page, the most precise cause first. */
const causes: readonly PageRuleId[] = ['frame-blocked', 'slot-hidden', 'slot-blank']

/**
 * Leaves out what follows from a finding about the page: of an ad that is blocked, the fill is unused, no beacon
 * arrives, and a step that waits for one fails. A step that waits for an ad that render.js did not show has its reason.
 */
export function withoutConsequences(given: readonly Verdict[], page: PageSeen): Verdict[] {
  const { mounts, failed_step } = page
  const verdicts = withoutLosses(given, page)
  const isWaiting = failed_step?.is_wait === true
  const named = (id: string) => verdicts.find(({ rule }) => rule.id === id)!
  const cause = causes.find((id) => named(id).standing === 'error')
  const errors = named('page-errors')
  if (cause === undefined) {
    const [error] = errors.findings
    if (!isWaiting || error === undefined) return [...verdicts]
    const { message, fix } = error
    return verdicts.map((verdict) => {
      if (verdict === errors) return following(verdict, 'step-failed')
      const isStep = verdict.rule.id === 'step-failed'
      if (!isStep) return verdict
      const because = (step: RuleFinding) => ({
        ...step,
        message: `${step.message} ${message}`,
        ...(fix ? { fix } : {}),
      })
      return { ...verdict, findings: verdict.findings.map(because) }
    })
  }
  const slots = new Set<string | null>(mounts.map(({ slot_id }) => slot_id))
  // A page that blocks every frame has no ad: what was filled meanwhile was filled for it.
  const isOfPage = ({ requests = [] }: RuleFinding) =>
    requests.every(({ slot_id }) => slots.has(slot_id)) || (cause === 'frame-blocked' && mounts.length === 0)
  return verdicts.map((verdict) => {
    const { id } = verdict.rule
    const isConsequence =
      (id === 'step-failed' && isWaiting) || isAboutUnseen(verdict, isOfPage) || isOfFrames(verdict, page)
    return isConsequence ? following(verdict, cause) : verdict
  })
}

/** Whether all that a rule found is that ads were not seen, for a cause that `isExplained` knows. */
function isAboutUnseen({ rule, findings }: Verdict, isExplained: (finding: RuleFinding) => boolean): boolean {
  const ids = ['fill-unused', 'beacon-missing', 'ads-never-seen', 'frame-without-room']
  return ids.includes(rule.id) && findings.length > 0 && findings.every(isExplained)
}

/** Whether all paths that the service does not have are those of frames: `frame-blocked` has their change. */
function isOfFrames({ rule, findings }: Verdict, { other_frames }: PageSeen): boolean {
  const paths = new Set(other_frames.map(({ url }) => new URL(url).pathname))
  const isFrame = ({ requests = [] }: RuleFinding) =>
    requests.length > 0 && requests.every(({ path }) => paths.has(withoutQuery(path)))
  return rule.id === 'path-unknown' && findings.length > 0 && findings.every(isFrame)
}

/** Leaves out that ads were not seen which the page itself took out: `page-errors` has that. */
function withoutLosses(verdicts: readonly Verdict[], page: PageSeen): Verdict[] {
  const lost = page.renderer_errors.filter((error) => isOwnLoss(error, page, false))
  const slots = new Set(lost.map(({ detail }) => detail?.split(' ', 1)[0]))
  const isLost = ({ requests = [] }: RuleFinding) =>
    requests.length > 0 && requests.every(({ slot_id }) => slots.has(slot_id ?? ''))
  const errors = verdicts.find(({ rule }) => rule.id === 'page-errors')
  // An error of a page without any ad is why nothing of what was filled for it was shown.
  const isUnshown = errors?.standing === 'error' && page.mounts.length === 0
  return verdicts.map((verdict) => {
    // Of several ads, one that was lost is a warning, which hides no error.
    const isHeld = verdict.standing !== 'error' || errors?.standing === 'error'
    return (isHeld && isAboutUnseen(verdict, isLost)) || (isUnshown && isUnshownFill(verdict))
      ? following(verdict, 'page-errors')
      : verdict
  })
}

/** Whether fills were unused, and for no cause that the requests show. */
function isUnshownFill({ rule, findings }: Verdict): boolean {
  return rule.id === 'fill-unused' && findings.length > 0 && findings.every(({ fix }) => fix === undefined)
}

function following(verdict: Verdict, cause: string): Verdict {
  return { ...verdict, findings: [], standing: 'not_seen', follows: cause }
}

/** Lists each request of a finding once, oldest first: the second of three repetitions both repeats and is repeated. */
function withEvidence(finding: RuleFinding, { exchanges, callbacks }: Watched): RuleFinding {
  if (finding.requests === undefined) return finding
  const shown = new Set(finding.requests)
  return { ...finding, requests: [...exchanges, ...callbacks].filter((exchange) => shown.has(exchange)) }
}

function judgeRule(rule: (typeof observeRules)[keyof typeof observeRules], watched: Watched): Judgement {
  const { page, served = [] } = watched
  if (rule.facts === 'journal') return rule.judge(watched)
  if (rule.facts === 'page') {
    return page === null ? { sample_size: 0, findings: [] } : rule.judge({ page, observed: watched })
  }
  // What a page without render.js would do is not seen in one that has it.
  const got = page === null ? [] : [{ ...page, place: page.url, problem: null, renderer_uses: [], has_stub: true }]
  const judged = [...got, ...served].map((files) => rule.judge(files))
  return {
    sample_size: judged.reduce((sum, { sample_size }) => sum + sample_size, 0),
    findings: judged.flatMap(({ findings }) => findings),
  }
}

export function decideStanding({ severity }: AnyRule, { findings, sample_size }: Judgement): Standing {
  const isSome = (wanted: string) => findings.some((each) => each.severity === wanted)
  if (isSome('error')) return 'error'
  if (findings.length > 0) return findings.every((each) => each.severity === 'warning') ? 'warning' : severity
  return sample_size === 0 ? 'not_seen' : 'holds'
}

interface ResultOptions {
  target: RunResult['target']
  svc_version: string
  /** Epoch milliseconds of the system clock. */
  started_at_ms: number
  ended_at_ms: number
  /** Warnings fail too. */
  is_strict: boolean
  /** Returns the command that sends a request again. */
  curl(request: { method: string; url: string; headers: Record<string, string>; body: string | null }): string
  /** `57 requests of npm test`. */
  looked_at: string
  /** Why it fails even if no rule is violated. */
  failed_because: readonly string[]
}

/** Returns the verdicts as a run of a suite: each rule is a case, each finding a step with the requests that show it. */
export function toRunResult(verdicts: readonly Verdict[], watched: Watched, options: ResultOptions): RunResult {
  const { target, svc_version, started_at_ms, ended_at_ms, looked_at, failed_because } = options
  return {
    command: 'observe',
    looked_at,
    failed_because,
    target,
    svc_version,
    started_at_ms,
    duration_ms: ended_at_ms - started_at_ms,
    cases: verdicts.map((verdict) => toCaseResult(verdict, watched, options)),
    interrupted: null,
  }
}

/** A violated rule whose severity is warning passes, with the reason, unless warnings fail. */
function toCaseResult(verdict: Verdict, watched: Watched, options: ResultOptions): CaseResult {
  const { rule, standing, findings } = verdict
  const outcome = toOutcome(standing, options)
  return {
    id: `observe/${rule.id}`,
    suite: 'observe',
    name: caseTitle(rule),
    place: toSourceLocation(rule),
    tags: [standing],
    topic: `rules/${rule.id}`,
    matrix: {},
    attempt: 1,
    outcome,
    reason: explainStanding(verdict),
    started_at_ms: options.started_at_ms,
    duration_ms: 0,
    steps: withPictures(
      rule,
      standing === 'holds'
        ? [holdingStep(verdict)]
        : findings.map((finding) => violationStep(rule, finding, outcome, { page: watched.page, options })),
      watched.page,
    ),
  }
}

/** The rule about what an ad paints has the pictures of the ads. */
function withPictures(rule: AnyRule, steps: StepResult[], page: Watched['page']): StepResult[] {
  const [first, ...more] = steps
  if (rule.id !== 'slot-blank' || page === null || first === undefined) return steps
  return [{ ...first, screenshots: [...first.screenshots, ...page.slot_pictures] }, ...more]
}

function toOutcome(standing: Standing, { is_strict }: ResultOptions): Outcome {
  if (standing === 'not_seen' || standing === 'off') return 'not_applicable'
  return standing === 'error' || (standing === 'warning' && is_strict) ? 'failed' : 'passed'
}

function explainStanding({ standing, rule, findings, follows }: Verdict): string | null {
  if (follows !== null) return `follows from ${follows}`
  if (standing === 'not_seen') return `not seen: ${rule.needs}`
  return standing === 'warning' ? `warning: ${findings.map(({ message }) => message).join(' ')}` : null
}

/** Every rule about integrations has one: a test requires it. */
export function caseTitle({ title = '' }: AnyRule): string {
  return title
}

/** A rule has no place in a file: its id takes the place of one. */
function toSourceLocation({ id }: AnyRule): CaseResult['place'] {
  return { file: `observe/${id}`, line: 0, column: 0 }
}

/** The maximum number of requests of a finding that are shown in full; its text has all ids. */
const maxExchanges = 5

function violationStep(
  rule: AnyRule,
  { message, fix = rule.fix, requests = [], place }: RuleFinding,
  outcome: Outcome,
  { page, options }: { page: Watched['page']; options: ResultOptions },
): StepResult {
  const screenshot = requests.length === 0 ? (page?.screenshot ?? null) : null
  const ids = requests.map(({ request_id }) => request_id).join(', ')
  const actual = ids === '' ? message : `${message} (${ids})`
  return {
    ...toStepResult(rule, message, outcome, { actual, hint: `${fix} ${rule.costs}` }),
    ...(place?.file !== undefined && { place: { file: place.file, line: place.line, column: place.column } }),
    reason: outcome === 'passed' ? `${fix} ${rule.costs}` : null,
    exchanges: requests.slice(0, maxExchanges).map((each) => sentExchange(each, options)),
    screenshots: screenshot === null ? [] : [screenshot],
  }
}

function holdingStep({ rule, sample_size, notes = [] }: Verdict): StepResult {
  const basis = `judged by ${sample_size} of: ${rule.needs?.replace(/^an? /, '')}`
  return toStepResult(rule, caseTitle(rule), 'passed', { actual: [basis, ...notes].join('; ') })
}

function toStepResult(
  rule: AnyRule,
  title: string,
  outcome: Outcome,
  check: Pick<Check, 'actual' | 'hint'>,
): StepResult {
  return {
    title,
    place: toSourceLocation(rule),
    outcome,
    reason: null,
    duration_ms: 0,
    exchanges: [],
    checks: [{ subject: rule.id, passed: outcome !== 'failed', expected: caseTitle(rule), ...check }],
    screenshots: [],
  }
}

/** Headers that every client sets itself. */
const ownHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'accept-encoding'])

function sentExchange(exchange: JournaledExchange, { target, curl }: ResultOptions): SentExchange {
  const { method, path, status, duration_ms, request_headers, response_headers } = exchange
  const url = target.base_url + path
  const request_body = bodyText(exchange.request_body)
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
    response_body: bodyText(exchange.response_body),
    error: status === 0 ? 'the connection was broken' : null,
    duration_ms,
    curl: curl({ method, url, headers, body: request_body }),
  }
}

function bodyText(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}
