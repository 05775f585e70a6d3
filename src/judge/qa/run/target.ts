/** The service that a run tests, and what it offers. */

import type { PermittedKey } from '#client/permitted-key.ts'
import { pageOrigin } from '#contract/origins.ts'
import { ownAgents } from '#contract/own-requests.ts'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import type { Preference } from '../browser/engines.ts'
import type { BrowserHost } from '../browser/launch.ts'
import { QaError, type TargetSummary } from '../result.ts'
import { type Control, ControlError, openControl } from './control.ts'
import { HttpClient, NoResponseError } from './http-client.ts'
import { createKeys, type GivenKeys } from './keys.ts'

/** Something that a case needs of its target. */
export type Need = 'control' | 'browser' | 'publishable_key' | 'test_key' | 'live_key' | 'erasable' | Preference

export interface TargetOptions {
  kind: TargetSummary['kind']
  base_url: string
  client_id: string | null
  origin: string | null
  keys: GivenKeys
  /** For the steps that need a browser; null for a run without. */
  browser: BrowserHost | null
  /** The token that the control plane of a sandbox beyond loopback requires. */
  admin_token?: PermittedKey | undefined
  /** Uses v1 only, with the given keys, even when the service is a sandbox. Default: false. */
  is_plain_client?: boolean
  /** Sent with every request; default: that of `svc qa run`. */
  user_agent?: string
  /** The prefix of the sessions of cases; default: `qa_`. */
  session_prefix?: string
}

export type Target = Readonly<Awaited<ReturnType<typeof openTarget>>>

/** Opens a service for a run. Throws QaError. */
export async function openTarget(options: TargetOptions) {
  const { keys: given, admin_token, browser } = options
  const base_url = options.base_url.replace(/\/+$/, '')
  const http = new HttpClient({ 'user-agent': options.user_agent ?? ownAgents.qa })
  const control_headers: Record<string, string> = admin_token === undefined ? {} : { 'x-sandbox-token': admin_token }
  const control = openControl(http, base_url, control_headers)
  const seen = await readInfo(options, base_url, http, control)
  const info = options.is_plain_client === true ? null : seen
  const project = info?.projects.find(({ client_id }) => client_id === options.client_id) ?? info?.projects[0]
  const client_id = options.client_id ?? project?.client_id
  if (client_id === undefined || (info === null && given.secret === null)) {
    http.close()
    throw missingKeys(base_url, client_id === undefined)
  }
  const summary = summarizeTarget(options, base_url, info)
  const missing = listMissing(options, summary, info !== null)
  const keys = createKeys({
    client_id,
    given,
    control: info === null ? null : control,
    is_temporary: options.kind === 'fresh',
  })
  return {
    summary,
    base_url,
    client_id,
    /** Projects of the sandbox when the run began; empty for another service. */
    projects: (info?.projects ?? []).map((each) => each.client_id),
    origin: options.origin ?? pageOrigin(project?.allowed_origins ?? []) ?? 'http://localhost:3000',
    /** The prefix of the sessions of cases. */
    session_prefix: options.session_prefix ?? 'qa_',
    browser,
    keys,
    http,
    /** Secrets that must not reach another service. */
    secrets: [given.secret, admin_token].filter((secret) => secret !== null && secret !== undefined),
    /** Headers that the control plane requires. */
    control_headers,
    /** Returns what is missing, in words, or null when the target has it. */
    missing: (need: Need) => missing[need],
    control,
    async close(): Promise<void> {
      await keys.close().catch((error: unknown) => {
        if (!(error instanceof NoResponseError || error instanceof ControlError)) throw error
      })
      http.close()
    },
  }
}

/** Returns what a sandbox reports about itself, or null for another service. Throws QaError without a response. */
async function readInfo(
  { kind }: TargetOptions,
  base_url: string,
  http: HttpClient,
  control: Control,
): Promise<SandboxInfo | null> {
  try {
    const info = await control<SandboxInfo>('sandbox.info')
    return Array.isArray(info.projects) ? info : null
  } catch (error) {
    if (!(error instanceof NoResponseError)) return null
    http.close()
    throw new QaError(
      'target_missing',
      `${base_url} cannot be reached: ${error.message}.`,
      kind === 'service'
        ? 'Check --base-url, or use a sandbox: svc qa run --fresh'
        : 'Start one: svc start. Or let the run start its own: svc qa run --fresh',
    )
  }
}

function missingKeys(base_url: string, isProjectMissing: boolean): QaError {
  return new QaError(
    'target_missing',
    `${base_url} is not a sandbox, so it needs ${isProjectMissing ? 'a project and ' : ''}a secret key.`,
    'Set SVC_CLIENT_ID and SVC_SECRET_KEY, or --client-id and --secret-key. To use a fresh sandbox: svc qa run --fresh',
  )
}

function summarizeTarget(
  { kind, keys, browser }: TargetOptions,
  base_url: string,
  info: SandboxInfo | null,
): TargetSummary {
  return {
    base_url,
    kind: kind === 'service' && info !== null ? 'sandbox' : kind,
    version: info?.version ?? null,
    key_mode: keys.secret?.startsWith('sk_live_') === true ? 'live' : 'test',
    ...(browser !== null && { browser: browser.name }),
  }
}

/** Returns what is missing in a target, in words, by the need of a case. */
function listMissing(
  { keys, browser }: TargetOptions,
  { kind, key_mode }: TargetSummary,
  hasControl: boolean,
): Record<Need, string | null> {
  const preference = (each: Preference, field: string): string | null =>
    browser?.cannot.includes(each) === true ? `${field}, which svc cannot set in ${browser.name}` : null
  return {
    control: hasControl ? null : 'the control plane of a sandbox, which this service does not have',
    erasable: kind === 'fresh' ? null : 'a sandbox that may be erased: svc qa run --fresh',
    publishable_key: hasControl || keys.publishable !== null ? null : 'a publishable key: --publishable-key',
    test_key: key_mode === 'test' ? null : 'a test key: test_outcome is never sent with a production key',
    live_key: hasControl ? null : 'production keys of a sandbox',
    browser: browser === null ? 'a browser: add --browser' : null,
    dark: preference('dark', 'color_scheme: dark'),
    reduced_motion: preference('reduced_motion', 'reduced_motion'),
  }
}
