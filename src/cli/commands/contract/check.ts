/** `svc contract check`: compares a live service with the contract. */

import { Argument, InvalidArgumentError, Option } from 'commander'
import type { Command, CommandContext, CommandInput } from '#cli/run/command.ts'
import { type HttpRequest, isProductionKey } from '#client/exchange.ts'
import { fetchRaw } from '#client/node-fetch.ts'
import type { ObserveFile } from '#diagnosis/observe-file/observe-file.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import type { ServiceDifference, ServiceReport } from '#qa/contract-check/report.ts'
import type { CaseResult, RunResult } from '#qa/result.ts'
import { CliError, exitCodes, nothingChecked } from '#text/cli-error.ts'
import { type Column, paintWord } from '#text/table.ts'
import { plural } from '#text/text.ts'
import { version } from '#text/version.ts'
import { loadProjectFile, reportApplied } from '../qa/observe-file.ts'
import { besideOptions, createReporter, type ReportFlags, reportBeside } from '../qa/reports.ts'
import { loadServiceSettings, requireSubject, runSuite, type Subject } from './service.ts'

type CheckFlags = ReportFlags & { openapi?: string; allowLive?: true }

/** Where a sandbox publishes its OpenAPI document. */
const sandboxOpenapi = '/_sandbox/openapi.json'

const columns: readonly Column[] = [
  { name: 'endpoint', kind: 'id' },
  { name: 'result', paint: paintWord },
  { name: 'requests', rank: 2 },
  { name: 'documented' },
  { name: 'observed' },
  { name: 'assumed' },
]

export const check: Command = {
  name: 'check',
  summary: 'Compare a live service with the contract',
  details:
    'Sends harmless requests with the configured test key: test traffic in a separate session, and requests that must be refused. Compares status, headers, fields and errors with the contract, and the OpenAPI document if the service publishes one. A difference from the documentation is exit code 5; other differences are only reported. A production key is refused without --allow-live, and even then no traffic is sent with it.',
  arguments: [new Argument('[url]', 'base URL of the service; default: base_url of the settings')],
  options: [
    new Option(
      '--openapi <url>',
      `its OpenAPI document; default: ${sandboxOpenapi} of the service, if there is one`,
    ).argParser(wholeUrl),
    new Option('--allow-live', 'accept a production key, and send only requests that create no traffic'),
    ...besideOptions,
  ],
  tables: [columns],
  hasRows: true,
  examples: ['contract check', 'contract check -o json'],
  async run(context, { args, options }: CommandInput<CheckFlags>) {
    const { reportLines, summarizeEndpoints, withoutDifferences } = await import('#qa/contract-check/report.ts')
    const { withObserveFile } = await import('#diagnosis/observe-file/apply.ts')
    // Wrong names are reported before anything is sent.
    await createReporter(context, options)
    const project = await loadProjectFile(context)
    const started_at_ms = context.system.now()
    const settings = args[0] === undefined ? context.settings : await loadServiceSettings(context, args[0])
    const subject = requireSubject(settings, options.allowLive === true)
    const work = checkService(context, subject, options.openapi)
    const { report: whole, openapi, cases } = await context.out.progress(`checking ${settings.base_url}`, work)
    const applied = await applyToReport(whole, project, context.system.now())
    const about = await reportApplied(applied)
    const off = new Map(applied.off.map(({ rule, why }) => [rule.replace('contract-check/', ''), why]))
    const report = withoutDifferences(whole, new Set(applied.kept), off)
    const { endpoints, differences } = report
    const isAsDocumented = differences.every(({ weight }) => weight !== 'documented')
    const summary = summarizeEndpoints(endpoints)
    const mode = isProductionKey(subject.secret_key) ? 'live' : 'test'
    const run = await toRun(context, subject, { report, cases, started_at_ms })
    if (await reportBeside(context, options, withObserveFile(run, applied))) {
      context.out.list(
        {
          ...{ ok: isAsDocumented && !about.isFailed, base_url: settings.base_url, mode, openapi, summary },
          ...{ endpoints, differences, ...about.field },
        },
        differences,
        (style) => [...reportLines(report, columns, style), ...openapiLines(openapi), ...about.lines(style)],
      )
    }
    if (about.note !== null) context.out.note(about.note)
    if (isAsDocumented && endpoints.every(({ checks }) => checks.length === 0)) {
      const message = `Nothing of ${settings.base_url} was checked: none of ${endpoints.length} endpoints could be judged.`
      throw nothingChecked(message, 'The list above says why. See the requests: -o json')
    }
    context.out.note(
      isAsDocumented
        ? `${settings.base_url} matches the documentation in everything that was checked.`
        : `${settings.base_url} differs from the documentation.`,
    )
    return isAsDocumented && !about.isFailed ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
  },
}

/** Applies the file of the project to what differs. Additions are no findings. */
async function applyToReport({ endpoints, differences }: ServiceReport, project: ObserveFile | null, now_ms: number) {
  const { applyObserveFile } = await import('#diagnosis/observe-file/apply.ts')
  const found = differences
    .filter(({ weight }) => weight !== 'addition')
    .map((item) => {
      const { endpoint, check, what, expected, observed } = item
      const message = `${what} should be ${expected}; it is ${observed}`
      const rule = `contract-check/${endpoint}`
      return { rule, where: what, message, case_id: `${rule}: ${check}`, item }
    })
  const checked = new Set(endpoints.flatMap(({ endpoint, checks }) => (checks.length > 0 ? [endpoint as string] : [])))
  return applyObserveFile(project, found, {
    now_ms,
    suite: 'contract-check',
    isJudged: ({ rule }) => checked.has(rule.replace('contract-check/', '')),
  })
}

interface Checked {
  report: ServiceReport
  cases: readonly CaseResult[]
  started_at_ms: number
}

/** Returns the check as a run, for `--reporter`. */
async function toRun(
  { system }: CommandContext,
  { base_url, secret_key, sandbox }: Subject,
  { report, cases, started_at_ms }: Checked,
): Promise<RunResult> {
  const { toCheckCases } = await import('#qa/contract-check/check-run.ts')
  const kind = sandbox === null ? 'service' : 'sandbox'
  return {
    command: 'contract check',
    target: { base_url, kind, version: null, key_mode: isProductionKey(secret_key) ? 'live' : 'test' },
    svc_version: version,
    started_at_ms,
    duration_ms: system.now() - started_at_ms,
    cases: toCheckCases(report, cases, started_at_ms),
    interrupted: null,
    looked_at: `${plural(report.endpoints.length, 'endpoint')} of ${base_url}`,
  }
}

function wholeUrl(text: string): string {
  if (URL.canParse(text)) return text
  throw new InvalidArgumentError('Write it in full: https://host/openapi.json')
}

interface OpenapiReport {
  url: string
  /** Null when it was compared. */
  not_compared: string | null
}

async function checkService(context: CommandContext, subject: Subject, openapi_url: string | undefined) {
  const { base_url } = subject
  const { serviceReport } = await import('#qa/contract-check/report.ts')
  const { cases, leftOut } = await runSuite(context, subject)
  const send = (request: HttpRequest) => fetchRaw(request, base_url, context.signal)
  const { openapi, differences } = await checkOpenapi(send, base_url, openapi_url)
  return { report: serviceReport(cases, leftOut, differences), openapi, cases }
}

/** Requests the document without a credential, because it may be on another host. */
async function checkOpenapi(
  send: (request: HttpRequest) => ReturnType<typeof fetchRaw>,
  base_url: string,
  given: string | undefined,
): Promise<{ openapi: OpenapiReport; differences: ServiceDifference[] }> {
  const url = given ?? base_url.replace(/\/+$/, '') + sandboxOpenapi
  const response = await send({ method: 'GET', url, headers: { accept: 'application/json' } })
  const document = parseJson(response.text)
  if (response.ok && isObject(document) && 'openapi' in document) {
    const { compareOpenapi } = await import('#qa/contract-check/openapi.ts')
    return { openapi: { url, not_compared: null }, differences: compareOpenapi(document) }
  }
  const not_compared = response.ok ? 'is not an OpenAPI document in JSON' : `responded with ${response.status}`
  if (given === undefined) return { openapi: { url, not_compared }, differences: [] }
  const hint = 'Give the address of an OpenAPI 3 document in JSON.'
  throw new CliError('service', 'openapi_unreadable', `${url} ${not_compared}.`, hint)
}

function openapiLines({ url, not_compared }: OpenapiReport): string[] {
  const line = not_compared === null ? `compared: ${url}` : `not compared: ${url} ${not_compared}`
  return ['', `OpenAPI document ${line}`]
}
