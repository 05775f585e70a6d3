/** `svc contract check`: a live service beside the contract. */

import { setTimeout } from 'node:timers/promises'
import { Argument, Option } from 'commander'
import type { Command } from '../../cli/run/command.ts'
import { CliError, exitCodes } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { loadSettings } from '../../cli/settings/files.ts'
import { type Settings, settingsTable } from '../../cli/settings/settings.ts'
import { type HttpRequest, isProductionKey } from '../../client/request.ts'
import { fetchRaw } from '../../client/transport.ts'
import type { Difference, EndpointReport } from '../../qa/contract-check/difference.ts'
import { checkPrefix } from '../../qa/contract-check/mark.ts'
import { compareOpenapi } from '../../qa/contract-check/openapi.ts'
import { probeService, type Subject } from '../../qa/contract-check/probes.ts'
import { createRecorder } from '../../qa/contract-check/recorder.ts'
import { checkLines, summaryOf } from '../../qa/contract-check/report.ts'

/** Where a sandbox publishes its OpenAPI document. */
const sandboxOpenapi = '/_sandbox/openapi.json'

export const check: Command = {
  name: 'check',
  summary: 'Compare a live service with the contract',
  details:
    'Sends harmless requests with the configured test key: test traffic of a session of its own, and requests that must be refused. Compares status, headers, fields and errors with the contract, and the OpenAPI document where the service publishes one. A difference of a documented fact is exit code 5; the rest is told. A production key is refused without --allow-live, and makes no traffic with it. Also: svc contract --check URL.',
  arguments: [new Argument('[url]', 'the service; default: that of the settings')],
  options: [
    new Option('--openapi <url>', `its OpenAPI document; default: ${sandboxOpenapi} of the service, if there is one`),
    new Option('--allow-live', 'take a production key, and send only what makes no traffic'),
  ],
  examples: ['contract check', 'contract check -o json'],
  async run(session, { args, options }) {
    const settings = args[0] === undefined ? session.settings : await settingsOf(session, args[0])
    const subject = subjectOf(session, settings, options.allowLive === true)
    const work = checkService(session, settings.base_url, subject, options.openapi as string | undefined)
    const { endpoints, differences, openapi } = await session.out.progress(`checking ${settings.base_url}`, work)
    const isAsDocumented = differences.every(({ weight }) => weight !== 'documented')
    const summary = summaryOf(endpoints)
    const mode = isProductionKey(subject.secret_key) ? 'live' : 'test'
    session.out.list(
      { ok: isAsDocumented, base_url: settings.base_url, mode, openapi, summary, endpoints, differences },
      differences,
      (style) => [...checkLines(endpoints, differences, style), ...openapiLines(openapi)],
    )
    session.out.note(
      isAsDocumented
        ? `${settings.base_url} is as documented, as far as it was checked.`
        : `${settings.base_url} differs from what is documented.`,
    )
    return isAsDocumented ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
  },
}

/** The settings as they are for another service: a key of a sandbox does not go there. */
async function settingsOf({ host, flags }: Session, url: string): Promise<Settings> {
  const parsed = settingsTable.base_url.schema.safeParse(url)
  if (parsed.success) return loadSettings(host, { ...flags, base_url: url })
  throw new CliError(
    'usage',
    'argument_invalid',
    `'${url}' is not an http or https URL.`,
    'For example: svc contract check http://127.0.0.1:4010',
  )
}

function subjectOf({ host }: Session, settings: Settings, mayBeLive: boolean): Subject {
  const { client_id, secret_key, publishable_key, origin, base_url } = settings
  if (secret_key === null) {
    const hint = 'Give a test key: --secret-key KEY or SVC_SECRET_KEY. Without a service, start a sandbox: svc start'
    throw new CliError('credentials', 'secret_key_missing', `There is no secret key for ${base_url}.`, hint)
  }
  if (client_id === null) {
    const hint = 'Give --client-id ID or SVC_CLIENT_ID.'
    throw new CliError('usage', 'client_id_missing', `There is no project for ${base_url}.`, hint)
  }
  if (isProductionKey(secret_key) && !mayBeLive) {
    const hint = 'Use a key that begins with sk_test_, or add --allow-live: then nothing is sent that makes traffic.'
    throw new CliError('credentials', 'production_key', 'This is a production key.', hint)
  }
  const session_id = `${checkPrefix}${host.randomText(8)}`
  return { client_id, secret_key, publishable_key, origin, session_id }
}

interface OpenapiReport {
  url: string
  /** Null when it was compared. */
  not_compared: string | null
}

async function checkService(session: Session, base_url: string, subject: Subject, openapi_url: string | undefined) {
  const send = (request: HttpRequest) => fetchRaw(request, base_url, session.signal)
  const recorder = createRecorder({
    base_url,
    send,
    pause: (duration_ms) => setTimeout(duration_ms, undefined, { signal: session.signal }),
    now_ms: () => session.host.now(),
  })
  await probeService(recorder, subject)
  const { openapi, differences } = await checkOpenapi(send, base_url, openapi_url)
  for (const difference of differences) recorder.differs(difference)
  return { ...recorder.result(), openapi } satisfies {
    endpoints: EndpointReport[]
    differences: Difference[]
    openapi: OpenapiReport
  }
}

/** The document is asked for without a credential: it may be on another host. */
async function checkOpenapi(
  send: (request: HttpRequest) => ReturnType<typeof fetchRaw>,
  base_url: string,
  given: string | undefined,
): Promise<{ openapi: OpenapiReport; differences: Difference[] }> {
  const url = given ?? base_url.replace(/\/+$/, '') + sandboxOpenapi
  if (!URL.canParse(url)) {
    throw new CliError(
      'usage',
      'option_invalid',
      `--openapi ${url} is not a URL.`,
      'Write it whole: https://host/openapi.json',
    )
  }
  const answer = await send({ method: 'GET', url, headers: { accept: 'application/json' } })
  const document = parse(answer.text)
  if (answer.ok && document !== null)
    return { openapi: { url, not_compared: null }, differences: compareOpenapi(document) }
  const not_compared = answer.ok ? 'no OpenAPI document in JSON' : `answered ${answer.status}`
  if (given === undefined) return { openapi: { url, not_compared }, differences: [] }
  throw new CliError(
    'service',
    'openapi_unreadable',
    `${url}: ${not_compared}.`,
    'Give the address of an OpenAPI 3 document in JSON.',
  )
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as Record<string, unknown> | null
    return typeof value === 'object' && value !== null && 'openapi' in value ? value : null
  } catch {
    return null
  }
}

function openapiLines({ url, not_compared }: OpenapiReport): string[] {
  return [
    '',
    not_compared === null
      ? `OpenAPI document compared: ${url}`
      : `OpenAPI document not compared: ${url} ${not_compared}`,
  ]
}
