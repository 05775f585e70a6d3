/** The service that a run looks at, and what it offers. */
/**
 * Credentials for cases. Rate limits are per key: on a sandbox cases take turns with keys that are made for the run, so
 * that no case meets the limit because of what others sent. A service has the keys that it was given.
 */
import type { SandboxInfo } from '../../contract/control/sandbox.ts'
import { contract, type EndpointId } from '../../contract/index.ts'
import { fillPath } from '../../foundation/endpoint-path.ts'
import type { Json } from '../../foundation/json.ts'
import { redactSecrets } from '../../foundation/redaction.ts'
import type { BrowserHost } from '../browser/launch.ts'
import type { TargetSummary } from '../result.ts'
import { createWire, NoAnswer, type RawAnswer, type Wire } from './http.ts'

/** What a target must have. */
export type Need = 'control' | 'browser' | 'publishable_key' | 'test_key' | 'live_key' | 'erasable'

export interface TargetOptions {
  kind: TargetSummary['kind']
  base_url: string
  client_id: string | null
  origin: string | null
  keys: GivenKeys
  /** For the steps that need one; null for a run without. */
  browser: BrowserHost | null
  /** What the control plane of a sandbox beyond loopback demands. */
  admin_token?: string | undefined
  /** Uses v1 only, with the given keys, even when the service is a sandbox. Default: false. */
  is_plain_client?: boolean
  /** Sent with every request; default: none. */
  user_agent?: string
  /** What the sessions of cases begin with; default: `qa_`. */
  session_prefix?: string
}

export interface Target {
  readonly summary: TargetSummary
  readonly base_url: string
  readonly client_id: string
  /** Projects of the sandbox when the run began; none of a service. */
  readonly projects: readonly string[]
  readonly origin: string
  /** What the sessions of cases begin with. */
  readonly session_prefix: string
  readonly browser: BrowserHost | null
  readonly keys: Keys
  readonly wire: Wire
  /** Headers that the control plane demands. */
  readonly control_headers: Readonly<Record<string, string>>
  /** Why this target lacks something; null when it has it. */
  lacks(need: Need): string | null
  /** Calls the control plane aside from any step. Throws NoAnswer or ControlError. */
  control(id: EndpointId, params?: Readonly<Record<string, string>>, body?: Json, signal?: AbortSignal): Promise<Json>
  close(): Promise<void>
}

/** The target does not answer, or is not set up well enough to be looked at. */
export class TargetError extends Error {
  override readonly name = 'TargetError'
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/** The control plane refused what the runner itself needs. */
export class ControlError extends Error {
  override readonly name = 'ControlError'
}

const within_ms = 5_000

/** Looks at a service. Throws TargetError. */
export async function openTarget(options: TargetOptions): Promise<Target> {
  const base_url = options.base_url.replace(/\/+$/, '')
  const wire = createWire(options.user_agent === undefined ? {} : { 'user-agent': options.user_agent })
  const control_headers: Record<string, string> =
    options.admin_token === undefined ? {} : { 'x-sandbox-token': options.admin_token }
  const control: Target['control'] = async (id, params = {}, body, signal = AbortSignal.timeout(within_ms)) => {
    const endpoint = contract[id]
    const path = fillPath(endpoint.path, params)
    const text = body === undefined ? null : JSON.stringify(body)
    const headers = { ...control_headers, ...(text === null ? {} : { 'content-type': 'application/json' }) }
    const answer = await wire.send({ method: endpoint.method, url: base_url + path, headers, body: text }, signal)
    if (answer.status !== endpoint.status) throw new ControlError(refusal(endpoint.method, path, answer))
    return JSON.parse(answer.text) as Json
  }
  const seen = await infoOf(options, base_url, wire, control)
  const info = options.is_plain_client === true ? null : seen
  const project = info?.projects.find(({ client_id }) => client_id === options.client_id) ?? info?.projects[0]
  const client_id = options.client_id ?? project?.client_id
  if (client_id === undefined || (info === null && options.keys.secret === null)) {
    wire.close()
    throw new TargetError(
      `${base_url} is no sandbox, so it needs ${client_id === undefined ? 'a project and ' : ''}a secret key.`,
      'Set SVC_CLIENT_ID and SVC_SECRET_KEY, or --client-id and --secret-key. For a sandbox of its own: svc qa run --fresh',
    )
  }
  const has_control = info !== null
  const keys = createKeys({
    client_id,
    given: options.keys,
    control: has_control ? control : null,
    is_kept: options.kind === 'fresh',
  })
  const kind = options.kind === 'service' && has_control ? 'sandbox' : options.kind
  const summary: TargetSummary = {
    base_url,
    kind,
    version: info?.version ?? null,
    key_mode: options.keys.secret?.startsWith('sk_live_') === true ? 'live' : 'test',
  }
  const origin = options.origin ?? project?.allowed_origins[0]?.replace(/:\*$/, ':3000') ?? 'http://localhost:3000'
  const lacking: Record<Need, string | null> = {
    control: has_control ? null : 'the control plane of a sandbox, which this service has not',
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
    projects: (info?.projects ?? []).map((each) => each.client_id),
    origin,
    session_prefix: options.session_prefix ?? 'qa_',
    browser: options.browser,
    keys,
    wire,
    control_headers,
    lacks: (need) => lacking[need],
    control,
    async close() {
      await keys.close().catch((error: unknown) => {
        if (!(error instanceof NoAnswer || error instanceof ControlError)) throw error
      })
      wire.close()
    },
  }
}

/** What the sandbox says of itself; null of a service that is none. Throws TargetError when nothing answers. */
async function infoOf(
  { kind }: TargetOptions,
  base_url: string,
  wire: Wire,
  control: Target['control'],
): Promise<SandboxInfo | null> {
  try {
    const info = (await control('sandbox.info')) as unknown as SandboxInfo
    return Array.isArray(info.projects) ? info : null
  } catch (error) {
    if (!(error instanceof NoAnswer)) return null
    wire.close()
    throw new TargetError(
      `${base_url} cannot be reached: ${error.message}.`,
      kind === 'service'
        ? 'Check --base-url, or use a sandbox: svc qa run --fresh'
        : 'Start one: svc start. Or let the run start its own: svc qa run --fresh',
    )
  }
}

function refusal(method: string, path: string, { status, text }: RawAnswer): string {
  return `${method} ${path} answered ${status}: ${text.replace(/\s+/g, ' ').slice(0, 200)}`
}

export interface GivenKeys {
  secret: string | null
  publishable: string | null
}

export interface KeyWish {
  client_id: string
  class: 'secret' | 'publishable'
  mode: 'test' | 'live'
}

export interface Keys {
  /** A key for one case. `client_id` null means the project of the target. Throws Error where there is none. */
  take(wish: Omit<KeyWish, 'client_id'> & { client_id: string | null }): Promise<string>
  /** Given keys that do not look like keys: results must not show them either. */
  readonly unmarked: readonly string[]
  /** Revokes what was made. */
  close(): Promise<void>
}

/** Cases that share one key: few enough that their requests stay within the burst of its limit. */
const casesPerKey: Readonly<Record<KeyWish['class'], number>> = { secret: 12, publishable: 6 }

export interface KeysOptions {
  client_id: string
  given: GivenKeys
  control: Target['control'] | null
  /** The sandbox ends with the run: its keys need not be revoked. */
  is_kept: boolean
}

export function createKeys({ client_id, given, control, is_kept }: KeysOptions): Keys {
  const rings = new Map<string, { key: Promise<string>; left: number }>()
  const made: string[] = []

  async function make(wish: KeyWish): Promise<string> {
    const { client_id, ...body } = wish
    const created = (await control!('keys.create', { client_id }, body as unknown as Json)) as {
      key: string
      key_id: string
    }
    made.push(created.key_id)
    return created.key
  }

  return {
    take({ client_id: wanted, ...rest }) {
      const wish = { client_id: wanted ?? client_id, ...rest }
      if (control === null) return Promise.resolve(givenKey(wish, client_id, given))
      const name = JSON.stringify(wish)
      const ring = rings.get(name)
      if (ring !== undefined && ring.left > 0) {
        ring.left--
        return ring.key
      }
      const key = make(wish)
      rings.set(name, { key, left: casesPerKey[wish.class] - 1 })
      key.catch(() => rings.delete(name))
      return key
    },
    unmarked: Object.values(given).filter((key): key is string => key !== null && redactSecrets(key) === key),
    async close() {
      if (is_kept || control === null) return
      for (const key_id of made) await control('keys.revoke', { key_id }, {})
    },
  }
}

/** Returns the given key of a class. Throws Error when none was given, or one of another mode is wanted. */
function givenKey(wanted: KeyWish, client_id: string, given: GivenKeys): string {
  const key = given[wanted.class]
  const isOtherMode = wanted.class === 'secret' && wanted.mode === 'live' && key?.includes('_live_') !== true
  if (key !== null && wanted.client_id === client_id && !isOtherMode) return key
  throw new Error(`No ${wanted.mode} ${wanted.class} key of ${wanted.client_id} was given.`)
}
