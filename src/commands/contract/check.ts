/** `svc contract check`: compares a live service with the contract. */
import { Argument, InvalidArgumentError, Option } from 'commander'
import { type Column, paintWord } from '#cli/output/table.ts'
import { type Command, type CommandContext, textOption } from '#cli/run/command.ts'
import { CliError, exitCodes, noSandboxFor, nothingChecked } from '#cli/run/errors.ts'
import { version } from '#cli/run/system.ts'
import { loadSettings } from '#cli/settings/files.ts'
import { isValidSetting, type PermittedKey, permittedKey, type Settings } from '#cli/settings/settings.ts'
import { type HttpRequest, isProductionKey } from '#client/exchange.ts'
import { fetchRaw } from '#client/node-fetch.ts'
import { contractCheckClient } from '#contract/own-requests.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import type { ServiceDifference } from '#qa/contract-check/report.ts'
import { QaError } from '#qa/result.ts'

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
    'Sends harmless requests with the configured test key: test traffic in a separate session, and requests that must be refused. Compares status, headers, fields and errors with the contract, and the OpenAPI document if the service publishes one. A difference from the documentation is exit code 5; other differences are only reported. A production key is refused without --allow-live, and even then no traffic is sent with it. Also: svc contract --check URL.',
  arguments: [new Argument('[url]', 'base URL of the service; default: base_url of the settings')],
  options: [
    new Option(
      '--openapi <url>',
      `its OpenAPI document; default: ${sandboxOpenapi} of the service, if there is one`,
    ).argParser(wholeUrl),
    new Option('--allow-live', 'accept a production key, and send only requests that create no traffic'),
  ],
  tables: [columns],
  hasRows: true,
  examples: ['contract check', 'contract check -o json'],
  async run(context, { args, options }) {
    const { reportLines, summarizeEndpoints } = await import('#qa/contract-check/report.ts')
    const settings = args[0] === undefined ? context.settings : await loadServiceSettings(context, args[0])
    const subject = requireSubject(settings, options.allowLive === true)
    const work = checkService(context, subject, textOption(options, 'openapi'))
    const { report, openapi } = await context.out.progress(`checking ${settings.base_url}`, work)
    const { endpoints, differences } = report
    const isAsDocumented = differences.every(({ weight }) => weight !== 'documented')
    const summary = summarizeEndpoints(endpoints)
    const mode = isProductionKey(subject.secret_key) ? 'live' : 'test'
    context.out.list(
      { ok: isAsDocumented, base_url: settings.base_url, mode, openapi, summary, endpoints, differences },
      differences,
      (style) => [...reportLines(report, columns, style), ...openapiLines(openapi)],
    )
    if (isAsDocumented && endpoints.every(({ checks }) => checks.length === 0)) {
      const message = `Nothing of ${settings.base_url} was checked: none of ${endpoints.length} endpoints could be judged.`
      throw nothingChecked(message, 'The list above says why. See the requests: -o json')
    }
    context.out.note(
      isAsDocumented
        ? `${settings.base_url} matches the documentation in everything that was checked.`
        : `${settings.base_url} differs from the documentation.`,
    )
    return isAsDocumented ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
  },
}

function wholeUrl(text: string): string {
  if (URL.canParse(text)) return text
  throw new InvalidArgumentError('Write it in full: https://host/openapi.json')
}

/** Returns the settings for another service: a key of the sandbox is not sent there. */
async function loadServiceSettings({ system, flags }: CommandContext, url: string): Promise<Settings> {
  if (isValidSetting('base_url', url)) return loadSettings(system, { ...flags, base_url: url })
  const hint = 'For example: svc contract check http://127.0.0.1:4010'
  throw new CliError('usage', 'argument_invalid', `'${url}' is not an http or https URL.`, hint)
}

/** Settings with a project and a secret key. */
interface Subject extends Settings {
  client_id: string
  secret_key: PermittedKey
}

function requireSubject(settings: Settings, mayBeLive: boolean): Subject {
  const { client_id, secret_key, base_url, source } = settings
  if (secret_key === null && source.base_url === 'default') throw noSandboxFor(settings)
  if (secret_key === null) {
    const hint = 'Give a test key: --secret-key KEY or SVC_SECRET_KEY. Without a service, start a sandbox: svc start'
    throw new CliError('credentials', 'secret_key_missing', `There is no secret key for ${base_url}.`, hint)
  }
  if (client_id === null) {
    const hint = 'Give --client-id ID or SVC_CLIENT_ID.'
    throw new CliError('usage', 'client_id_missing', `No project is set for ${base_url}.`, hint)
  }
  if (isProductionKey(secret_key) && !mayBeLive) {
    const hint = 'Use a key that begins with sk_test_, or add --allow-live: then no request creates traffic.'
    throw new CliError('credentials', 'production_key', 'This is a production key.', hint)
  }
  return { ...settings, client_id, secret_key: permittedKey(settings, secret_key) }
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
  return { report: serviceReport(cases, leftOut, differences), openapi }
}

/** Runs the suite `contract-check` as a plain client of the service, one request at a time. */
async function runSuite({ system, signal }: CommandContext, subject: Subject) {
  const { expand } = await import('#qa/run/plan.ts')
  const { loadSuites } = await import('#qa/suite/builtin.ts')
  const { runPlan } = await import('#qa/run/runner.ts')
  const planned = expand(loadSuites(['contract-check'], (file) => file)).map((each) => ({
    each,
    why: each.loaded.tags.map((tag) => reasonToLeaveOut(tag, subject)).find((why) => why !== null),
  }))
  const target = await openPlainTarget(subject)
  try {
    const { cases } = await runPlan(
      planned.flatMap(({ each, why }) => (why === undefined ? each : [])),
      {
        targets: [target],
        workers: 1,
        seed: system.randomText(16),
        reporter: {},
        environment: { now: () => system.now(), curl: () => '', command_name: 'svc' },
        svc_version: version,
        interrupt: signal,
        bail: null,
        step_timeout_ms,
        update_snapshots: false,
      },
    )
    signal.throwIfAborted()
    return { cases, leftOut: planned.flatMap(({ each, why }) => (why === undefined ? [] : { name: each.name, why })) }
  } finally {
    await target.close()
  }
}

/** Longer than a service may make a rate-limited client wait. */
const step_timeout_ms = 20_000

function reasonToLeaveOut(tag: string, { secret_key, origin }: Subject): string | null {
  if (tag === 'traffic' && isProductionKey(secret_key)) return 'no traffic is sent with a production key'
  return tag === 'origin' && origin === null ? 'no origin is set: --origin' : null
}

async function openPlainTarget({ base_url, client_id, origin, secret_key, publishable_key }: Subject) {
  const { openTarget } = await import('#qa/run/target.ts')
  try {
    return await openTarget({
      kind: 'service',
      is_plain_client: true,
      base_url,
      client_id,
      origin,
      keys: { secret: secret_key, publishable: publishable_key },
      browser: null,
      ...contractCheckClient,
    })
  } catch (error) {
    if (!(error instanceof QaError)) throw error
    throw new CliError('unreachable', 'target_missing', error.message, 'Check the URL. Or start a sandbox: svc start')
  }
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
