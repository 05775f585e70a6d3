/**
 * The result of a QA run, as plain data: the runner writes it, reporters read it. A run is made of cases, a
 * case of steps, a step of exchanges (what went over the wire) and checks (what was expected of it).
 */
import type { Provenance } from '#contract/objects.ts'
import type { SourceLocation } from '#foundation/finding.ts'
import { isObject, type Json } from '#foundation/json.ts'

/** A failure that keeps a run from starting, or from reporting: for the command line, with what to do. */
export class QaError extends Error {
  override readonly name = 'QaError'
  /** Stable name of the cause. */
  readonly code: `${'target' | 'browser' | 'pattern' | 'reporter' | 'report'}_${string}`
  /** The fix, one sentence. */
  readonly hint: string

  constructor(code: QaError['code'], message: string, hint: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
    this.hint = hint
  }
}

/** Something that the browser of the run cannot do: the case is not applicable there. */
export class NotSupported extends Error {
  override readonly name = 'NotSupported'
}

/**
 * How a case or a step ended. `not_applicable`: it needs something that this target does not have. `not_run`: a failure
 * before it, `--bail` or an interrupt kept it from running. `reason` has the cause of both. What passed with a reason
 * passed with a warning.
 */
export type Outcome = 'passed' | 'failed' | 'not_applicable' | 'not_run'

/** A fact of the contract that a response does not hold to. */
export interface Difference {
  /**
   * Where the fact comes from. `addition`: something that the contract does not have, and that a service may add within
   * v1.
   */
  weight: Provenance | 'addition'
  /** `status`, `header content-type`, `response placement.width`, `error.reason_code`. */
  what: string
  expected: string
  observed: string
}

/** One expectation, met or not. */
export interface Check {
  /** The subject of the check: `status`, `body.decision.outcome`, `header cache-control`, `contract`, `events`, `pixels`. */
  subject: string
  passed: boolean
  /** In words or as a value: `fill`, `greater than 0`, `the schema of placements.create`. */
  expected: Json
  actual: Json
  /** For a failure, when the two values do not explain it: what it means, or what to do. */
  hint?: string
  /** What the response of the step gives as its reason, with its meaning. Of the first failed check of a step alone. */
  response_reason?: string
  place?: SourceLocation
  /** For a comparison with the contract: everything that differs, including what does not fail the check. */
  differences?: readonly Difference[]
}

/** One request and its response. Credentials and tokens are redacted in every field; bodies are cut at 64 kB. */
export interface CaseExchange {
  method: string
  url: string
  request_headers: Record<string, string>
  request_body: string | null
  /** 0: no response came, and `error` has the cause. */
  status: number
  response_headers: Record<string, string>
  response_body: string | null
  error: string | null
  duration_ms: number
  /**
   * The command that repeats the request, with variables such as $SVC_SECRET_KEY for credentials. Of a failed step on a
   * fresh sandbox: the script that starts a sandbox and repeats the case up to the request.
   */
  curl: string
}

/** A screenshot of a page, as PNG. */
export interface Screenshot {
  name: string
  png: Uint8Array
  width: number
  height: number
}

/** The response of a step, as expectations and later steps see it: `{{name.body.slot_id}}`. */
export interface StepResponse {
  status: number
  headers: Record<string, string>
  /** Parsed JSON, or text when it is not JSON. */
  body: Json
  duration_ms: number
}

export interface StepResult {
  /** `placement`, `beacon visible`, or the step's own name. */
  title: string
  place: SourceLocation
  outcome: Outcome
  /** Why it failed without a failed check (no response, a timeout, a missing variable), or why it did not run. */
  reason: string | null
  duration_ms: number
  exchanges: CaseExchange[]
  checks: Check[]
  screenshots: Screenshot[]
  /** For a finding that a file of the project accepts: by which line, until when and why. Its place is that line. */
  accepted?: string
}

export interface CaseResult {
  /** The same in every run: `suite/name`, with the values of its matrix in it. */
  id: string
  suite: string
  name: string
  place: SourceLocation
  tags: readonly string[]
  /** The values that its matrix gave it: `{ format: 'clip' }`. */
  matrix: Readonly<Record<string, Json>>
  /** From 1; more only with `--repeat`. */
  attempt: number
  outcome: Outcome
  reason: string | null
  /** The topic of `svc docs` that explains it: `rules/secret-key-served`. */
  topic?: string
  /** Epoch milliseconds, of the host's clock. */
  started_at_ms: number
  duration_ms: number
  /** Setup, the case's own, then teardown. */
  steps: StepResult[]
}

/** The service that was tested, for the heads of reports. */
export interface TargetSummary {
  base_url: string
  /**
   * `fresh`: a sandbox that was started for this run; `sandbox`: a running one; `service`: any other service; `file`:
   * nothing was sent, and `base_url` is the name of the file.
   */
  kind: 'fresh' | 'sandbox' | 'service' | 'file'
  /** Version of the sandbox, or null for another service. */
  version: string | null
  key_mode: 'test' | 'live'
  /** The browser that pages were opened in: `Firefox 153.7.0`. Without one there is no field. */
  browser?: string
}

export interface RunResult {
  /** The command without svc: `qa run`. */
  command: string
  target: TargetSummary
  svc_version: string
  started_at_ms: number
  duration_ms: number
  cases: CaseResult[]
  /** The signal that ended it early, or null. */
  interrupted: string | null
  /** What was looked at besides cases: `57 requests of npm test`. */
  looked_at?: string
  /** Why it fails although no case failed: it saw no request of the app, the command failed. */
  failed_because?: readonly string[]
  /** What changed against an earlier report; with `--compare-with`. */
  changes?: Changes
  /** What `svc.observe.yaml` changed, where a project has one. */
  observe_file?: AppliedFile
}

/** The entries of `svc.observe.yaml` that a run used. */
export interface AppliedFile {
  path: string
  /** `findings`: how many the entry accepts. */
  accepted: readonly { rule: string; where: string; line: number; until: string; why: string; findings: number }[]
  off: readonly { rule: string; line: number; why: string }[]
}

/** What changed against an earlier report, by the ids of cases. Every failed case of either run is in one list. */
export interface Changes {
  /** The file of the earlier report. */
  earlier: string
  /** Passed, or was not judged, in the earlier run. */
  newly_failing: readonly string[]
  /** Failed, and not in the earlier run. */
  added_failing: readonly string[]
  still_failing: readonly string[]
  newly_passing: readonly string[]
  /** Failed in the earlier run, and was not judged in this one. */
  not_judged: readonly string[]
}

/** Returns why a run fails besides its failed cases: it was interrupted, nothing was judged. Empty when it does not. */
export function runProblems({ cases, interrupted, failed_because = [] }: RunResult): string[] {
  const isJudged = cases.some(({ outcome }) => outcome === 'passed' || outcome === 'failed')
  return [
    ...(interrupted === null ? [] : [`Interrupted by ${interrupted}: the run is incomplete.`]),
    ...(isJudged || failed_because.length > 0 ? [] : ['Nothing was checked: no case could be judged.']),
    ...failed_because,
  ]
}

/** Whether a run passed: nothing failed, and something was judged. */
export function hasPassed(result: RunResult): boolean {
  return runProblems(result).length === 0 && result.cases.every(({ outcome }) => outcome !== 'failed')
}

/** Counts of cases by outcome, and of all their checks. */
export interface Totals {
  cases: number
  passed: number
  failed: number
  not_applicable: number
  not_run: number
  checks: number
  failed_checks: number
}

/** Returns the totals of a run. A step that failed without a failed check counts as one failed check. */
export function countTotals(cases: readonly CaseResult[]): Totals {
  const totals: Totals = {
    cases: cases.length,
    passed: 0,
    failed: 0,
    not_applicable: 0,
    not_run: 0,
    checks: 0,
    failed_checks: 0,
  }
  for (const { outcome, steps } of cases) {
    totals[outcome]++
    for (const { checks, outcome: end } of steps) {
      const failed = checks.filter((check) => !check.passed).length
      const failedItself = end === 'failed' && failed === 0 ? 1 : 0
      totals.checks += checks.length + failedItself
      totals.failed_checks += failed + failedItself
    }
  }
  return totals
}

/** Returns a value of a matrix in words: an object by its name, or by its fields: `format banner, max_width 300`. */
export function valueWords(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueWords).join('+')
  if (!isObject(value)) return String(value)
  if (typeof value.name === 'string') return value.name
  return Object.entries(value)
    .map(([name, field]) => `${name} ${valueWords(field)}`)
    .join(', ')
}

/** Is notified during a run. Methods are called one after the other; a run awaits each. */
export interface Reporter {
  /** Before the first case. */
  start?(run: {
    target: TargetSummary
    cases: number
    /** Cases of each suite, with attempts: with them, reporters can print a suite as soon as it has ended. */
    suites?: readonly { name: string; cases: number }[]
    svc_version: string
    started_at_ms: number
  }): Promise<void> | void
  /** When a case begins; with several workers others may be running. */
  begin?(item: Pick<CaseResult, 'id' | 'suite' | 'name' | 'attempt'>): Promise<void> | void
  /** When a case has ended. */
  case?(result: CaseResult): Promise<void> | void
  /** Once, after the last case, also of an interrupted run. */
  end?(result: RunResult): Promise<void> | void
}
