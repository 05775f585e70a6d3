/** `svc contract` and `svc openapi`: the contract as text and as an OpenAPI document; `check` compares a live service with it. */
import { Argument, InvalidArgumentError, Option } from 'commander'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { type Column, paintWord } from '#cli/output/table.ts'
import type { Style } from '#cli/output/terminal.ts'
import { padEnd, wrap } from '#cli/output/text.ts'
import type { Command, CommandContext, Noun } from '#cli/run/command.ts'
import { CliError, didYouMean, exitCodes, noSandboxFor, nothingChecked } from '#cli/run/errors.ts'
import { version } from '#cli/run/host.ts'
import { loadSettings } from '#cli/settings/files.ts'
import { isValidSetting, type PermittedKey, permittedKey, type Settings } from '#cli/settings/settings.ts'
import { type HttpRequest, isProductionKey } from '#client/exchange.ts'
import { fetchRaw } from '#client/node-fetch.ts'
import { contract as endpoints } from '#contract/index.ts'
import { contractListing, type ListedField } from '#contract/listing.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import { contractCheckClient } from '#contract/own-requests.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import type { ServiceDifference } from '#qa/contract-check/report.ts'
import { QaError } from '#qa/result.ts'

export const openapi: Command = {
  name: 'openapi',
  summary: 'Print the OpenAPI 3.1 document of the contract',
  details:
    'Covers v1 and the control plane, with x-provenance on every field; --v1 or --control selects one of them. Needs no sandbox. Always JSON.',
  options: [
    new Option('--v1', 'only the public API').conflicts('control'),
    new Option('--control', 'only the control plane of the sandbox'),
  ],
  examples: ['openapi --v1', 'openapi -o json'],
  acceptsInvalidSettings: true,
  async run({ out, settings }, { options }) {
    const only = options.v1 === true ? 'v1' : options.control === true ? 'sandbox' : undefined
    const document = openapiDocument({ server_url: settings.base_url, only })
    out.data(document, () => JSON.stringify(document, null, 2).split('\n'))
    return 0
  },
}

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
  examples: ['contract check', 'contract check -o json'],
  async run(session, { args, options }) {
    const { reportLines, summarizeEndpoints } = await import('#qa/contract-check/report.ts')
    const settings = args[0] === undefined ? session.settings : await settingsOf(session, args[0])
    const subject = subjectOf(settings, options.allowLive === true)
    const work = checkService(session, subject, options.openapi as string | undefined)
    const { report, openapi } = await session.out.progress(`checking ${settings.base_url}`, work)
    const { endpoints, differences } = report
    const isAsDocumented = differences.every(({ weight }) => weight !== 'documented')
    const summary = summarizeEndpoints(endpoints)
    const mode = isProductionKey(subject.secret_key) ? 'live' : 'test'
    session.out.list(
      { ok: isAsDocumented, base_url: settings.base_url, mode, openapi, summary, endpoints, differences },
      differences,
      (style) => [...reportLines(report, columns, style), ...openapiLines(openapi)],
    )
    if (isAsDocumented && endpoints.every(({ checks }) => checks.length === 0)) {
      const message = `Nothing of ${settings.base_url} was checked: none of ${endpoints.length} endpoints could be judged.`
      throw nothingChecked(message, 'The list above says why. See the requests: -o json')
    }
    session.out.note(
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
async function settingsOf({ host, flags }: CommandContext, url: string): Promise<Settings> {
  if (isValidSetting('base_url', url)) return loadSettings(host, { ...flags, base_url: url })
  const hint = 'For example: svc contract check http://127.0.0.1:4010'
  throw new CliError('usage', 'argument_invalid', `'${url}' is not an http or https URL.`, hint)
}

/** Settings with a project and a secret key. */
interface Subject extends Settings {
  client_id: string
  secret_key: PermittedKey
}

function subjectOf(settings: Settings, mayBeLive: boolean): Subject {
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

async function checkService(session: CommandContext, subject: Subject, openapi_url: string | undefined) {
  const { base_url } = subject
  const { serviceReport } = await import('#qa/contract-check/report.ts')
  const { cases, leftOut } = await runSuite(session, subject)
  const send = (request: HttpRequest) => fetchRaw(request, base_url, session.signal)
  const { openapi, differences } = await checkOpenapi(send, base_url, openapi_url)
  return { report: serviceReport(cases, leftOut, differences), openapi }
}

/** Runs the suite `contract-check` as a plain client of the service, one request at a time. */
async function runSuite({ host, signal }: CommandContext, subject: Subject) {
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
        seed: host.randomText(16),
        reporter: {},
        environment: { now: () => host.now(), curl: () => '', command_name: 'svc' },
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

/** Columns of a terminal, and of a text without one. */
const usualColumns = 80

const show = endpointCommand('contract.show', {
  details:
    'Needs no sandbox. Shows each field with its type, whether it is required, its provenance, decision id and description. With the name of a field: where the API has it. Without a name: all endpoints.',
  arguments: [nameArgument()],
  examples: ['contract show placements.create', 'contract show slot_id', 'contract show -o json'],
  async run({ out }, { args: [name] }) {
    const whole = contractListing()
    const listing = { ...whole, endpoints: name === undefined ? whole.endpoints : endpointsOf(name, whole.endpoints) }
    out.list(listing, listing.endpoints, (style) =>
      listing.endpoints.flatMap((endpoint) => endpointLines(endpoint, style)),
    )
    return 0
  },
})

export const contract: Noun = {
  summary: 'Show what is documented, observed and assumed, and check a service against it',
  commands: [
    show,
    {
      ...openapi,
      summary: endpoints['contract.openapi'].summary,
      examples: ['contract openapi --v1', 'contract openapi -o json'],
    },
    check,
  ],
  flagCommands: { '--check': 'check' },
}

/** Completion suggests the endpoints; a field can have any name. */
function nameArgument(): Argument {
  const argument = new Argument('[name]', 'an endpoint, such as placements.create, or a field: slot_id')
  argument.argChoices = Object.keys(endpoints)
  return argument
}

/**
 * Returns the endpoint with this name, or the endpoints that have a field with it, with only that field. Throws
 * CliError.
 */
function endpointsOf(name: string, all: readonly ListedEndpoint[]): ListedEndpoint[] {
  const one = all.filter(({ id }) => id === name)
  if (one.length > 0) return one
  const field = name.replace(/^--?/, '').replaceAll('-', '_')
  const isNamed = ({ path }: ListedField) => path === field || path.split(/[.[]/).at(-1)?.replace(']', '') === field
  const found = all
    .map((endpoint) => ({ ...endpoint, fields: endpoint.fields.filter(isNamed) }))
    .filter(({ fields }) => fields.length > 0)
  if (found.length > 0) return found
  const names = new Set(all.flatMap(({ id, fields }) => [id, ...fields.map(({ path }) => path)]))
  const hint = didYouMean(name, [...names]) ?? didYouMean(field, [...names]) ?? 'All of it: svc contract show'
  throw new CliError(
    'usage',
    'name_unknown',
    `The contract has no endpoint and no field ${JSON.stringify(name)}.`,
    hint,
  )
}

type ListedEndpoint = ReturnType<typeof contractListing>['endpoints'][number]

function endpointLines({ id, method, path, stability, provenance, fields }: ListedEndpoint, style: Style): string[] {
  const terms = `${stability}, ${provenance}`
  const width = style.columns ?? usualColumns
  const request = `${method} ${path}`
  const isRequestBelow = `${id}  ${request}`.length > width
  const isLong = isRequestBelow || `${id}  ${request}  ${terms}`.length > width
  const parts = Object.groupBy(fields, ({ where, variant }) => (variant === null ? where : `${where}, ${variant}`))
  return [
    `${style.bold(id)}${isRequestBelow ? '' : `  ${request}`}${isLong ? '' : `  ${style.dim(terms)}`}`,
    ...(isRequestBelow ? [`  ${request}`] : []),
    ...(isLong ? [`  ${style.dim(terms)}`] : []),
    ...Object.entries(parts).flatMap(([title, fields = []]) => [
      `  ${style.cyan(title)}`,
      ...fieldLines(fields, style),
    ]),
    '',
  ]
}

/** A narrower column would put every name above its facts. */
const leastNameWidth = 8

/** Returns the fields of one part, their names and types in columns, each with its description below. */
function fieldLines(fields: readonly ListedField[], style: Style): string[] {
  const width = (of: (field: ListedField) => string, most: number) =>
    Math.min(most, Math.max(...fields.map((field) => of(field).length)))
  const typeWidth = width(typeText, 17)
  const columns = style.columns ?? usualColumns
  const sourceWidth = width(sourceText, columns)
  const nameWidth = width(
    ({ path }) => path,
    Math.max(leastNameWidth, Math.min(24, columns - typeWidth - sourceWidth - '      required    '.length)),
  )
  return fields.flatMap((field) => {
    const { path, values, limits, required, description } = field
    const text = [
      description,
      ...(limits === null || description.includes(limits) ? [] : [`${limits[0]!.toUpperCase()}${limits.slice(1)}.`]),
      ...(values === null ? [] : [`One of: ${values.join(', ')}.`]),
    ].join(' ')
    const presence = required ? 'required' : 'optional'
    const facts = `${padEnd(typeText(field), typeWidth)}  ${presence}  `
    const isWide = 6 + nameWidth + facts.length + sourceText(field).length > columns
    const isAbove = path.length > nameWidth || isWide
    const head = isWide ? '      ' : `    ${padEnd(isAbove ? '' : path, nameWidth)}  `
    return [
      ...(isAbove ? [`    ${path}`] : []),
      head + facts + style.dim(sourceText(field)),
      ...wrap(text, columns - 6).map((line) => `      ${line}`),
    ]
  })
}

function sourceText({ provenance, decision }: Pick<ListedField, 'provenance' | 'decision'>): string {
  return [provenance, decision].filter(Boolean).join(' ')
}

function typeText({ type }: Pick<ListedField, 'type'>): string {
  return type.replaceAll(' | ', '|')
}
