/** The service that a run tests: what it offers, its control plane, and the keys that cases use. */
import type { PermittedKey } from '../../cli/settings/settings.ts'
import type { SandboxInfo } from '../../contract/control/sandbox.ts'
import { contract, type EndpointId } from '../../contract/index.ts'
import { fillPath } from '../../foundation/http.ts'
import type { Json } from '../../foundation/json.ts'
import { redactSecrets } from '../../foundation/redaction.ts'
import type { BrowserHost } from '../browser/launch.ts'
import { QaError, type TargetSummary } from '../result.ts'
import { HttpClient, type HttpResponse, NoResponseError } from './http.ts'

/** Something that a case needs of its target. */
export type Need = 'control' | 'browser' | 'publishable_key' | 'test_key' | 'live_key' | 'erasable'

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
  /** Sent with every request; default: none. */
  user_agent?: string
  /** What the sessions of cases begin with; default: `qa_`. */
  session_prefix?: string
}

/** Calls the control plane for the runner, not for a step. Throws NoResponseError or ControlError. */
type Control = <Body = Json>(
  id: EndpointId,
  params?: Readonly<Record<string, string>>,
  body?: Json,
  signal?: AbortSignal,
) => Promise<Body>

export type Target = Readonly<Awaited<ReturnType<typeof openTarget>>>

/** The control plane refused what the runner itself needs. */
class ControlError extends Error {
  override readonly name = 'ControlError'
}

/** How long a call of the runner may take: as long as a step, since it is often a part of one. */
const within_ms = 10_000

/** Opens a service for a run. Throws QaError. */
export async function openTarget(options: TargetOptions) {
  const base_url = options.base_url.replace(/\/+$/, '')
  const http = new HttpClient(options.user_agent === undefined ? {} : { 'user-agent': options.user_agent })
  const control_headers: Record<string, string> =
    options.admin_token === undefined ? {} : { 'x-sandbox-token': options.admin_token }
  const control: Control = async (id, params = {}, body, signal = AbortSignal.timeout(within_ms)) => {
    const endpoint = contract[id]
    const path = fillPath(endpoint.path, params)
    const text = body === undefined ? null : JSON.stringify(body)
    const headers = { ...control_headers, ...(text === null ? {} : { 'content-type': 'application/json' }) }
    const response = await http.send({ method: endpoint.method, url: base_url + path, headers, body: text }, signal)
    if (response.status !== endpoint.status) throw new ControlError(refusal(endpoint.method, path, response))
    return JSON.parse(response.text)
  }
  const seen = await infoOf(options, base_url, http, control)
  const info = options.is_plain_client === true ? null : seen
  const project = info?.projects.find(({ client_id }) => client_id === options.client_id) ?? info?.projects[0]
  const client_id = options.client_id ?? project?.client_id
  if (client_id === undefined || (info === null && options.keys.secret === null)) {
    http.close()
    throw new QaError(
      'target_missing',
      `${base_url} is no sandbox, so it needs ${client_id === undefined ? 'a project and ' : ''}a secret key.`,
      'Set SVC_CLIENT_ID and SVC_SECRET_KEY, or --client-id and --secret-key. For a sandbox of its own: svc qa run --fresh',
    )
  }
  const has_control = info !== null
  const keys = createKeys({
    client_id,
    given: options.keys,
    control: has_control ? control : null,
    is_temporary: options.kind === 'fresh',
  })
  const kind = options.kind === 'service' && has_control ? 'sandbox' : options.kind
  const summary: TargetSummary = {
    base_url,
    kind,
    version: info?.version ?? null,
    key_mode: options.keys.secret?.startsWith('sk_live_') === true ? 'live' : 'test',
  }
  const origin = options.origin ?? project?.allowed_origins[0]?.replace(/:\*$/, ':3000') ?? 'http://localhost:3000'
  const missing: Record<Need, string | null> = {
    control: has_control ? null : 'the control plane of a sandbox, which this service does not have',
    erasable: kind === 'fresh' ? null : 'a sandbox that may be erased: svc qa run --fresh',
    publishable_key: has_control || options.keys.publishable !== null ? null : 'a publishable key: --publishable-key',
    test_key: summary.key_mode === 'test' ? null : 'a test key: test_outcome is never sent with a production key',
    live_key: has_control ? null : 'production keys of a sandbox',
    browser: options.browser === null ? 'a browser: add --browser' : null,
  }
  return {
    summary,
    base_url,
    client_id,
    /** Projects of the sandbox when the run began; empty for another service. */
    projects: (info?.projects ?? []).map((each) => each.client_id),
    origin,
    /** What the sessions of cases begin with. */
    session_prefix: options.session_prefix ?? 'qa_',
    browser: options.browser,
    keys,
    http,
    /** What must not reach another service. */
    secrets: [options.keys.secret, options.admin_token].filter((secret) => secret !== null && secret !== undefined),
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
async function infoOf(
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

function refusal(method: string, path: string, { status, text }: HttpResponse): string {
  return `${method} ${path} responded ${status}: ${text.replace(/\s+/g, ' ').slice(0, 200)}`
}

/** The keys of the settings. */
interface GivenKeys {
  secret: PermittedKey | null
  publishable: string | null
}

interface KeyRequest {
  client_id: string
  class: 'secret' | 'publishable'
  mode: 'test' | 'live'
}

/** Cases that share one key: few enough that their requests stay within the burst of its limit. */
const casesPerKey: Readonly<Record<KeyRequest['class'], number>> = { secret: 12, publishable: 6 }

interface KeysOptions {
  client_id: string
  given: GivenKeys
  /** Null for a service without a control plane. */
  control: Control | null
  /** The sandbox ends with the run: its keys need not be revoked. */
  is_temporary: boolean
}

/**
 * Credentials for cases. Rate limits are per key: on a sandbox cases take turns with keys that are created for the run, so
 * that no case meets the limit because of the requests of others. Another service has the keys that were given.
 */
function createKeys({ client_id, given, control, is_temporary }: KeysOptions) {
  const shared = new Map<string, { key: Promise<string>; left: number }>()
  const created: string[] = []

  async function create({ client_id, ...body }: KeyRequest, call: Control): Promise<string> {
    const { key, key_id } = await call<{ key: string; key_id: string }>('keys.create', { client_id }, body)
    created.push(key_id)
    return key
  }

  return {
    /** Returns a key for one case. `client_id` null means the project of the target. Throws Error when there is none. */
    take({
      client_id: wanted,
      ...rest
    }: Omit<KeyRequest, 'client_id'> & { client_id: string | null }): Promise<string> {
      const request = { client_id: wanted ?? client_id, ...rest }
      if (control === null) return Promise.resolve(givenKey(request, client_id, given))
      const name = JSON.stringify(request)
      const known = shared.get(name)
      if (known !== undefined && known.left > 0) {
        known.left--
        return known.key
      }
      const key = create(request, control)
      shared.set(name, { key, left: casesPerKey[request.class] - 1 })
      key.catch(() => shared.delete(name))
      return key
    },
    /** Given keys that do not look like keys: results must not show them either. */
    opaque: Object.values(given).filter((key): key is string => key !== null && redactSecrets(key) === key),
    /** Revokes the keys that were created. */
    async close() {
      if (is_temporary || control === null) return
      for (const key_id of created) await control('keys.revoke', { key_id }, {})
    },
  }
}

/** Returns the given key of a class. Throws Error when none was given, or one of another mode is wanted. */
function givenKey({ class: kind, mode, client_id }: KeyRequest, own_client_id: string, given: GivenKeys): string {
  const key = given[kind]
  const isOtherMode = kind === 'secret' && mode === 'live' && key?.includes('_live_') !== true
  if (key !== null && client_id === own_client_id && !isOtherMode) return key
  throw new Error(`No ${mode} ${kind} key of ${client_id} was given.`)
}
