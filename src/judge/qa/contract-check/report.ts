/** `svc contract check`: what a run of the suite `contract-check` found, endpoint by endpoint, as data and as text. */

import { v1 } from '#contract/index.ts'
import type { Provenance } from '#contract/objects.ts'
import { contractPath, walkJson } from '#foundation/json/walk.ts'
import { type Json, parseJson, valueAt } from '#foundation/json.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { type Column, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { hangingLines } from '#text/text.ts'
import { briefValue, provenances } from '../expect/contract.ts'
import { isUnlistedStatus, listBesideStatus } from '../expect/statuses.ts'
import type { CaseResult, Check, Difference, StepResult } from '../result.ts'
import { rateLimitSubject } from '../run/exchange.ts'

export type V1Id = keyof typeof v1

/** A difference of a live service from the contract. Only those of documented facts fail the check. */
export interface ServiceDifference extends Difference {
  endpoint: V1Id
  /** The request in a few words: `a banner`; `openapi` for the document. */
  check: string
}

interface EndpointReport {
  endpoint: V1Id
  method: string
  path: string
  verdict: 'ok' | 'differs' | 'not checked'
  checks: { check: string; ok: boolean; request_id: string | null }[]
  not_checked: { check: string; why: string }[]
  /** Every field of the endpoint's response, with its verdict over all responses. */
  fields: { path: string; provenance: Provenance; verdict: 'ok' | 'differs' | 'not seen' }[]
}

export interface ServiceReport {
  endpoints: EndpointReport[]
  differences: ServiceDifference[]
}

/** The result of one case: one request to one endpoint, whose id begins the name of the case. */
interface JudgedCase {
  endpoint: V1Id
  check: string
  /** Why the request was not sent, or its response could not be judged; null when it was. */
  why_not: string | null
  request_id: string | null
  differences: ServiceDifference[]
  /** The body of a success, for the fields that it has. */
  body: Json | undefined
}

const rateLimit = { check: '429 rate_limited', why: 'meeting a rate limit would disturb others' }

/**
 * Returns the report of a run. `leftOut` holds the names of cases that were not run, with the reason; `others` holds
 * differences from elsewhere: those of the OpenAPI document.
 */
export function serviceReport(
  cases: readonly CaseResult[],
  leftOut: readonly { name: string; why: string }[],
  others: readonly ServiceDifference[],
): ServiceReport {
  const findings = cases.map(judgeCase)
  const differences = [...findings.flatMap((finding) => finding.differences), ...others]
  const skipped = [
    ...leftOut.map(({ name, why }) => ({ ...splitName(name), why })),
    ...findings.flatMap(({ endpoint, check, why_not }) => (why_not === null ? [] : { endpoint, check, why: why_not })),
    { endpoint: 'placements.create' as const, ...rateLimit },
  ]
  const endpoints = tableNames(v1).map((id): EndpointReport => {
    const own = differences.filter(({ endpoint, weight }) => endpoint === id && weight !== 'addition')
    const judged = findings.filter(({ endpoint, why_not }) => endpoint === id && why_not === null)
    const wrong = new Set(own.map(({ what }) => what))
    const seen = new Set(judged.flatMap(({ body }) => [...walkJson(body)].map(({ path }) => contractPath(path))))
    const { method, path } = v1[id]
    return {
      endpoint: id,
      method,
      path,
      verdict: own.length > 0 ? 'differs' : judged.length === 0 ? 'not checked' : 'ok',
      checks: judged.map(({ check, request_id, differences }) => ({
        check,
        ok: differences.every(({ weight }) => weight === 'addition'),
        request_id,
      })),
      not_checked: skipped.filter(({ endpoint }) => endpoint === id).map(({ check, why }) => ({ check, why })),
      fields: [...provenances(v1[id], 'response')].map(([path, provenance]) => ({
        path,
        provenance,
        verdict: wrong.has(`response ${path}`) ? 'differs' : seen.has(path) ? 'ok' : 'not seen',
      })),
    }
  })
  return { endpoints, differences }
}

/** Returns a report without some of its differences, and with endpoints that are not compared, each with the reason. */
export function withoutDifferences(
  { endpoints, differences }: ServiceReport,
  kept: ReadonlySet<ServiceDifference>,
  off: ReadonlyMap<string, string>,
): ServiceReport {
  const left = differences.filter((each) => each.weight === 'addition' || kept.has(each))
  return {
    differences: left,
    endpoints: endpoints.map((row) => {
      const why = off.get(row.endpoint)
      if (why !== undefined) {
        const not_checked = [...row.not_checked, { check: 'all of it', why }]
        return { ...row, verdict: 'not checked', checks: [], not_checked, fields: [] }
      }
      const own = left.filter(({ endpoint, weight }) => endpoint === row.endpoint && weight !== 'addition')
      if (row.verdict !== 'differs' || own.length > 0) return row
      return { ...row, verdict: row.checks.length === 0 ? 'not checked' : 'ok' }
    }),
  }
}

function judgeCase(item: CaseResult): JudgedCase {
  const { name, tags, steps } = item
  const subject = splitName(name)
  const step = steps.at(-1)
  const exchange = step?.exchanges.at(-1)
  if (step === undefined || exchange === undefined || !isJudged(item, step, exchange)) {
    return { ...subject, request_id: null, differences: [], body: undefined, why_not: explainUnjudged(item, step) }
  }
  const body = parseJson(exchange.response_body ?? '')
  const isNoFill = tags.includes('fill') && exchange.status < 300 && valueAt(body, 'decision.fill') === false
  const weight = tags.includes('assumed') ? 'assumed' : 'documented'
  const limited = contractDifferences(step, rateLimitSubject).map((difference) => ({
    ...difference,
    ...subject,
    check: 'over the rate limit',
  }))
  const own = listDifferences(step, weight, isNoFill).map((difference) => ({ ...difference, ...subject }))
  return {
    ...subject,
    why_not: isNoFill ? 'no fill came in test mode' : null,
    request_id: exchange.response_headers['x-request-id'] ?? null,
    differences: [...limited, ...own],
    body: exchange.status < 300 ? body : undefined,
  }
}

function isJudged({ outcome }: CaseResult, step: StepResult, { status }: StepResult['exchanges'][number]): boolean {
  return outcome !== 'not_applicable' && step.outcome !== 'not_run' && status !== 0
}

/** Returns why a request was not sent, or got no response. */
function explainUnjudged({ outcome, reason, steps }: CaseResult, step: StepResult | undefined): string {
  // `Line 60 (activate) needs a publishable key: ...`
  if (outcome === 'not_applicable') return reason?.replace(/^Line .*?(?=needs )/, '') ?? ''
  if (step !== undefined && step.outcome !== 'not_run') return step.reason ?? 'no response came'
  const failed = steps.find((each) => each.outcome === 'failed')
  return reason ?? `the request before it failed: ${failed === undefined ? '' : explainStep(failed)}`
}

/** `jobs.create: no credential` */
function splitName(name: string): { endpoint: V1Id; check: string } {
  const [endpoint = '', ...check] = name.split(': ')
  return { endpoint: endpoint as V1Id, check: check.join(': ') }
}

/** If the statuses differ, what was expected is not compared: the response is still held against the contract. */
function listDifferences(step: StepResult, weight: Provenance, isNoFill: boolean): Difference[] {
  const failed = step.checks.filter(({ passed, subject }) => !passed && !subject.startsWith('contract'))
  const status = failed.find(({ subject }) => subject === 'status')
  if (status !== undefined) {
    const own = contractDifferences(step, 'contract')
    const known = own.some(isUnlistedStatus) ? 'documented' : weight
    return [statusDifference(status, step, known), ...listBesideStatus(own)]
  }
  const expected = isNoFill ? [] : failed.map((check) => expectedDifference(check, weight))
  const found = [...contractDifferences(step, 'contract'), ...expected]
  return found.filter(({ what }, index) => found.findIndex((other) => other.what === what) === index)
}

function contractDifferences({ checks }: StepResult, subject: string): Difference[] {
  return checks.filter((check) => check.subject === subject).flatMap(({ differences = [] }) => differences)
}

function statusDifference({ expected, actual }: Check, { exchanges }: StepResult, weight: Provenance): Difference {
  if (expected !== '2xx') return { weight, what: 'status', expected: String(expected), observed: String(actual) }
  const observed = briefValue(`${String(actual)} ${exchanges.at(-1)?.response_body ?? ''}`)
  return { weight, what: 'status', expected: 'a success, 2xx', observed }
}

function expectedDifference({ subject, expected, actual, hint }: Check, weight: Provenance): Difference {
  const values = {
    expected: briefValue(expected),
    observed: briefValue(hint !== undefined && actual === null ? undefined : actual),
  }
  if (subject === 'reason_code') return { weight: 'assumed', what: 'error.reason_code', ...values }
  return { weight, what: subject.replace(/^body\./, 'response '), ...values }
}

function explainStep({ reason, checks }: StepResult): string {
  const check = checks.find(({ passed }) => !passed)
  return reason ?? (check === undefined ? '' : `${check.subject} ${briefValue(check.actual)}`)
}

const provenanceNames = ['documented', 'observed', 'assumed'] as const satisfies Provenance[]

/** The headings of differences by the provenance of the fact that does not hold. */
export const headings: Readonly<Record<Difference['weight'], string>> = {
  documented: 'Differs from what is documented',
  observed: 'Differs from what clients were seen to depend on',
  assumed: 'Differs from what is assumed here: the service decides',
  addition: 'The service has more: additions are compatible within v1',
}

/** Returns how many endpoints got which verdict. */
export function summarizeEndpoints(endpoints: readonly EndpointReport[]): Record<EndpointReport['verdict'], number> {
  const count = (verdict: EndpointReport['verdict']) => endpoints.filter((row) => row.verdict === verdict).length
  return { ok: count('ok'), differs: count('differs'), 'not checked': count('not checked') }
}

/** Returns the report as text: endpoints, what differs, what was not checked. */
export function reportLines(
  { endpoints, differences }: ServiceReport,
  columns: readonly Column[],
  style: Style,
): string[] {
  const rows = endpoints.map((row) => ({
    endpoint: row.endpoint,
    result: row.verdict,
    requests: row.checks.length,
    ...Object.fromEntries(provenanceNames.map((name) => [name, fieldCount(row, name)])),
  }))
  const table = tableLines(columns, rows, style)
  const skipped = endpoints.flatMap(({ endpoint, not_checked }) =>
    not_checked.flatMap(({ check, why }) => hangingLines('  ', `${endpoint}, ${check}: ${why}`, style.columns)),
  )
  return [
    ...table,
    ...tableNames(headings).flatMap((weight) => {
      const own = differences.filter((difference) => difference.weight === weight)
      return own.length === 0
        ? []
        : ['', style.bold(headings[weight]), ...own.flatMap((each) => differenceLines(each, style))]
    }),
    ...(skipped.length === 0 ? [] : ['', style.bold('Not checked'), ...skipped]),
  ]
}

/** `8/9`: of nine fields, responses had eight as they should be. */
function fieldCount({ fields }: EndpointReport, provenance: Provenance): string {
  const own = fields.filter((field) => field.provenance === provenance)
  return own.length === 0 ? '-' : `${own.filter(({ verdict }) => verdict === 'ok').length}/${own.length}`
}

function differenceLines(
  { endpoint, check, weight, what, expected, observed }: ServiceDifference,
  style: Style,
): string[] {
  const isNew = weight === 'addition'
  const paint = isNew ? style.dim : weight === 'documented' ? style.red : style.yellow
  const text = `${endpoint}, ${check}: ${what} ${isNew ? 'is new:' : 'should be'} ${expected}; it is ${observed}`
  return hangingLines('  ', text, style.columns).map((line) => line.replace(what, () => paint(what)))
}
