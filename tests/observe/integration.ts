/** The calls of scripted integrations: those of a server and those of a page. */

const { SVC_BASE_URL = '', SVC_SECRET_KEY = '', SVC_PUBLISHABLE_KEY = '' } = process.env
let service = { url: SVC_BASE_URL, secret_key: SVC_SECRET_KEY, publishable_key: SVC_PUBLISHABLE_KEY }

/**
 * Makes the integration, which runs in this process, call a sandbox; a process of its own has SVC_* variables. `held_ms` is the
 * time of a sandbox whose clock stands still, so that no pause of the computer is one of the integration.
 */
export function use(sandbox: typeof service, held_ms?: number): void {
  service = sandbox
  passed_ms = 0
  started_ms = held_ms
}

export const client_id = 'proj_demo'
export const strictKey = 'sk_test_sandbox_strict'
export const liveKey = 'sk_live_sandbox_demo'
export const pageOrigin = 'http://localhost:3000'

/** The fields of responses that scripts read. */
export interface AnswerBody {
  slot_id: string
  slot_ids: string[]
  items: { path: string }[]
  status: string
  activation_token: string
  decision: { fill: boolean; asset_token: string }
  placement: { render: { frame_url: string } }
}

export interface Answer {
  status: number
  headers: Headers
  body: AnswerBody
}

export interface CallOptions {
  key?: string | null
  /** The origin of a page: with it the request comes from a browser. */
  origin?: string
  agent?: string
  /** The Sec-Fetch-Dest of a browser. */
  destination?: 'iframe' | 'image'
  content_type?: string
}

/** Sends one request; JSON in and out. */
export async function call(
  method: string,
  path: string,
  body?: unknown,
  { key = service.secret_key, origin, agent, destination, content_type = 'application/json' }: CallOptions = {},
): Promise<Answer> {
  const headers: Record<string, string> = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { 'content-type': content_type }),
    ...(origin === undefined ? {} : { origin, 'user-agent': agent ?? 'Mozilla/5.0 (one)' }),
  }
  if (destination !== undefined) headers['sec-fetch-dest'] = destination
  const text = body === undefined ? null : JSON.stringify(body)
  const answer = await fetch(path.startsWith('/') ? service.url + path : path, { method, headers, body: text })
  const content = await answer.text()
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
  return { status: answer.status, headers: answer.headers, body: (isJson ? JSON.parse(content) : {}) as AnswerBody }
}

let sessions = 0
/** Returns a session id that no other run has. */
export const newSession = () => `sess_${process.pid}_${++sessions}`

export const granted = { semantic_targeting: true, prompt_shared: true }

export function ask(fields: object = {}, options?: CallOptions): Promise<Answer> {
  const body = { client_id, session_id: newSession(), job_type: 'chat', consent: granted, ...fields }
  return call('POST', '/v1/placements', body, options)
}

/** Shows a fill correctly: loads its frame, and sends the beacons of a page on which it was seen, each with `fields`. */
export async function show({ body }: Answer, options?: CallOptions, fields: object = {}): Promise<void> {
  await frame({ body })
  await beacon(
    { body },
    'render',
    { seq: 0, measurements: { width_px: 300, height_px: 250, visible_ratio: 1 }, ...fields },
    options,
  )
  await beacon({ body }, 'visible', { seq: 1, ...view(), ...fields }, options)
}

/** Returns the fields of a visible beacon that counts: seen long enough for any format, and stamped when that time is over. */
export function view(): object {
  return { occurred_at_ms: now() + 2_000, measurements: { visible_ratio: 1, visible_ms: 2_000 } }
}

export function frame({ body }: Pick<Answer, 'body'>): Promise<Answer> {
  return call('GET', body.placement.render.frame_url, undefined, { key: null, destination: 'iframe' })
}

let beacons = 0
export function beacon(
  { body }: Pick<Answer, 'body'>,
  event: string,
  fields: object = {},
  options?: CallOptions,
): Promise<Answer> {
  const sent = {
    beacon_id: `mount_${body.slot_id}:${event}:${++beacons}`,
    asset_token: body.decision.asset_token,
    event,
    occurred_at_ms: now(),
    slot_id: body.slot_id,
    metadata: { turn_id: `turn_${body.slot_id}` },
    ...fields,
  }
  return call('POST', '/v1/beacons', sent, options)
}

export function activate(options: CallOptions = {}): Promise<Answer> {
  const page = { key: null, origin: pageOrigin, ...options }
  return call('POST', '/v1/browser/activate', { publishable_key: service.publishable_key }, page)
}

/** Calls the control API, to prepare the sandbox. */
export async function sandbox(method: string, path: string, body?: object): Promise<void> {
  const { status, body: answer } = await call(method, `/_sandbox${path}`, body, { key: null })
  if (status >= 400) throw new Error(JSON.stringify(answer))
}

/** Creates a job that asks for a callback, waits until an attempt to deliver it is in the journal, and shows its ad. */
export async function job(callback_url: string): Promise<void> {
  const fields = { client_id, session_id: newSession(), job_type: 'chat', consent: granted }
  const { body } = await call('POST', '/v1/jobs', { ...fields, callback_url })
  const [slot_id] = body.slot_ids
  const decided = await call('GET', `/v1/decisions/${slot_id}?wait_ms=2000`)
  let isSent = false
  while (!isSent) {
    const { items } = (await call('GET', `/_sandbox/requests?limit=20`, undefined, { key: null })).body
    isSent = items.some(({ path }) => path === callback_url)
  }
  if (decided.body.decision.fill) await show(decided)
}

let passed_ms = 0
let started_ms: number | undefined
/** Lets time pass on the clock of the sandbox, which stamps the journal. */
export async function pass(by_ms: number): Promise<void> {
  await sandbox('POST', '/clock/advance', { by_ms })
  passed_ms += by_ms
}
/** Returns the time of the sandbox, epoch milliseconds. */
export const now = () => (started_ms ?? Date.now()) + passed_ms

/** Makes the next matching request fail once. */
export const fault = (rule: object) => sandbox('POST', '/faults', { times: 1, ...rule })

export const scenario = (name: string) => sandbox('POST', `/scenarios/${name}`, {})

export const consent = (session_id: string, decision: string) =>
  call('POST', '/v1/consent', { client_id, session_id, decision, purposes: granted })
