/** The live service of `svc contract check` and `compare`: its settings, its keys, and the built-in requests. */

import type { CommandContext } from '#cli/run/command.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import { loadSettings } from '#cli/settings/files.ts'
import { isValidSetting, permittedKey, type Settings } from '#cli/settings/settings.ts'
import { isProductionKey } from '#client/exchange.ts'
import type { PermittedKey } from '#client/permitted-key.ts'
import { contractCheckClient } from '#contract/own-requests.ts'
import { formatDuration } from '#foundation/duration.ts'
import { curlCommand } from '#foundation/http.ts'
import { QaError } from '#qa/result.ts'
import { CliError } from '#text/cli-error.ts'
import { version } from '#text/version.ts'

/** Returns the settings for another service: a key of the sandbox is not sent there. */
export async function loadServiceSettings({ system, flags }: CommandContext, url: string): Promise<Settings> {
  // The format of a command, such as markdown, is no setting.
  const { output: _, ...others } = flags
  if (isValidSetting('base_url', url)) return loadSettings(system, { ...others, base_url: url })
  const hint = 'For example: svc contract check http://127.0.0.1:4010'
  throw new CliError('usage', 'argument_invalid', `'${url}' is not an http or https URL.`, hint)
}

/** Settings with a project and a secret key. */
export interface Subject extends Settings {
  client_id: string
  secret_key: PermittedKey
}

export function requireSubject(settings: Settings, mayBeLive: boolean): Subject {
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

/** Returns what prints a wait for the rate limit of a service, milliseconds. */
export function createWaitNote({ out }: Pick<CommandContext, 'out'>, name: string): (wait_ms: number) => void {
  return (wait_ms) => out.note(`Waiting ${formatDuration(wait_ms)}, since ${name} limits the rate of requests.`)
}

/** Returns the error of a service that does not respond, or not usefully. */
export function targetError({ code, message, hint }: QaError): CliError {
  return new CliError(code === 'target_rate_limited' ? 'service' : 'unreachable', code, message, hint)
}

/** Runs the suite `contract-check` as a plain client of the service, one request at a time. Throws CliError. */
export async function runSuite({ system, signal, out }: CommandContext, subject: Subject) {
  const { createRatePatience } = await import('#qa/run/rate-patience.ts')
  const { expand } = await import('#qa/run/plan.ts')
  const { loadSuites } = await import('#qa/suite/builtin.ts')
  const { runPlan } = await import('#qa/run/runner.ts')
  const planned = expand(loadSuites(['contract-check'], (file) => file)).map((each) => ({
    each,
    why: each.loaded.tags.map((tag) => reasonToLeaveOut(tag, subject)).find((why) => why !== null),
  }))
  const patience = createRatePatience(subject.base_url, createWaitNote({ out }, subject.base_url))
  const target = await openPlainTarget(subject)
  try {
    const { cases } = await runPlan(
      planned.flatMap(({ each, why }) => (why === undefined ? each : [])),
      {
        targets: [target],
        workers: 1,
        seed: system.randomText(16),
        reporter: {},
        environment: {
          now: () => system.now(),
          curl: ({ body, headers, ...request }, variables) =>
            curlCommand({ ...request, headers: { ...headers }, ...(body === null ? {} : { body }) }, variables),
          command_name: 'svc',
          patience,
        },
        svc_version: version,
        interrupt: AbortSignal.any([signal, patience.signal]),
        bail: null,
        step_timeout_ms,
        update_snapshots: false,
      },
    )
    signal.throwIfAborted()
    if (patience.signal.reason instanceof QaError) throw targetError(patience.signal.reason)
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
