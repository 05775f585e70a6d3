/**
 * A client written from the description of C01 to C08 alone: what it sends, what it reads and when. One function without
 * imports, so that a page gets it as text.
 */
export interface OldClientOptions {
  base_url: string
  /** Of a server. */
  secret_key?: string
  /** Of a page. */
  publishable_key?: string
  fetch?: typeof fetch
  sleep?: (ms: number) => Promise<unknown>
  /** Long polls wait this long, milliseconds. */
  long_poll_ms?: number
  now?: () => number
}

export interface OldDecision {
  slot_id: string
  status: 'pending' | 'ready'
  fill: boolean | null
  reason: string | null
  no_fill_reason: string | null
  creative: {
    url: string
    type: string
    duration_ms: number
    width: number
    height: number
    mime_type?: string
    click_through_url?: string
    sponsor_name?: string
    native_assets?: { title: string; image_url: string; description?: string; cta_text?: string; icon_url?: string }
  } | null
  asset_token: string | null
  constraints: Record<string, unknown> | null
  cs_declaration: string | null
  revenue_estimate: Record<string, unknown> | null
  metadata?: Record<string, unknown>
}

export interface OldJob {
  contract_version?: string
  job_id: string
  slot_ids: string[]
  status: string
  decision_delivery: { mode: string; decision_path_template?: string | null; poll_path_template?: string }
}

export type OldClient = ReturnType<typeof createOldClient>

export function createOldClient(options: OldClientOptions) {
  const { base_url, secret_key, publishable_key, long_poll_ms = 1_500 } = options
  const send = options.fetch ?? ((url: string | URL | Request, init?: RequestInit) => fetch(url, init))
  const sleep = options.sleep ?? ((ms: number) => new Promise((resolve) => setTimeout(resolve, ms)))
  const now = options.now ?? Date.now
  const surface = secret_key === undefined ? 'browser' : 'wrapper'
  let token: { text: string; expires_at_ms: number } | null = null
  /** How long each pause between two polls was, milliseconds. */
  const pauses: number[] = []

  const fault = (problem: string): never => {
    throw new Error(`an old client does not understand this: ${problem}`)
  }

  async function credential(): Promise<string> {
    if (secret_key !== undefined) return secret_key
    if (token !== null && now() < token.expires_at_ms - 5_000) return token.text
    const { body } = await call('POST', '/v1/browser/activate', { publishable_key }, null)
    token = { text: body.activation_token as string, expires_at_ms: body.expires_at_ms as number }
    return token.text
  }

  async function call(
    method: string,
    path: string,
    sent?: unknown,
    as?: string | null,
    more: RequestInit = {},
  ): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }> {
    const bearer = as === undefined ? await credential() : as
    const response = await send(base_url + path, {
      method,
      headers: {
        'x-csl-wrapper-version': '3.2.1',
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      ...more,
    })
    const text = await response.text()
    if (text.length > 65_536) fault(`${text.length} bytes`)
    return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) }
  }

  const createJob = async (body: object, path = '/v1/jobs'): Promise<OldJob> => {
    const answer = await call('POST', path, body)
    if (answer.status !== 201) fault(`${answer.status} ${JSON.stringify(answer.body)}`)
    const { job_id, slot_ids, status } = answer.body
    if (typeof job_id !== 'string' || !Array.isArray(slot_ids) || status !== 'accepted') fault('no job')
    return answer.body as unknown as OldJob
  }

  const members = [
    'contract_version',
    'slot_id',
    'status',
    'fill',
    'reason',
    'no_fill_reason',
    'creative',
    'asset_token',
    'constraints',
    'cs_declaration',
    'revenue_estimate',
  ]

  const text = (value: unknown) => typeof value === 'string' && value !== ''
  const absentOrText = (value: unknown) => value === undefined || text(value)

  /** Refuses what an old client does not accept. */
  function readDecision(body: Record<string, unknown>): OldDecision {
    if (body.contract_version !== 'csl_wrapper_decision/v1') fault(`contract_version ${body.contract_version}`)
    for (const name of members) if (!(name in body)) fault(`${name} is missing`)
    for (const name of Object.keys(body)) if (!members.includes(name) && name !== 'metadata') fault(`${name} is new`)
    const decision = body as unknown as OldDecision
    if (decision.status !== 'pending' && decision.status !== 'ready') fault(`status ${decision.status}`)
    const after = ['creative', 'asset_token', 'constraints', 'revenue_estimate'] as const
    if (decision.status === 'pending' || decision.fill !== true) {
      for (const name of after) if (decision[name] !== null) fault(`${name} of no fill`)
    }
    if (decision.status === 'pending') {
      const nulls = [decision.fill, decision.reason, decision.no_fill_reason, decision.cs_declaration]
      if (nulls.some((value) => value !== null)) fault('pending, and decided')
    } else if (decision.fill === false) {
      const texts = [decision.reason, decision.no_fill_reason, decision.cs_declaration]
      if (!texts.every(text)) fault('a no-fill without reasons')
    } else {
      const { creative, asset_token, constraints, reason, no_fill_reason, cs_declaration } = decision
      if (reason !== null || no_fill_reason !== null || !text(asset_token) || !text(cs_declaration)) fault('a fill')
      if (creative === null || !text(creative.url)) return fault('a creative')
      if (!['banner', 'clip', 'native'].includes(creative.type)) fault(creative.type)
      for (const name of ['duration_ms', 'width', 'height'] as const) {
        if (!(creative[name] > 0)) fault(`${name} ${creative[name]}`)
      }
      for (const name of ['mime_type', 'click_through_url', 'sponsor_name'] as const) {
        if (!absentOrText(creative[name])) fault(`${name} is empty`)
      }
      const assets = creative.native_assets
      if ((creative.type === 'native') !== (assets !== undefined)) fault('native_assets')
      if (assets !== undefined && (!text(assets.title) || !text(assets.image_url))) fault('native_assets')
      if (typeof constraints?.ruleset_version !== 'number' || constraints.mode !== creative.type) fault('constraints')
      if (typeof constraints?.creative_duration_ms !== 'number') fault('creative_duration_ms')
    }
    return decision
  }

  const getDecision = async (slot_id: string, wait_ms?: number): Promise<OldDecision> => {
    const query = wait_ms === undefined ? '' : `?wait_ms=${wait_ms}`
    const answer = await call('GET', `/public/${surface}/v1/slots/${slot_id}/decision${query}`)
    if (answer.status !== 200) fault(`${answer.status} ${JSON.stringify(answer.body)}`)
    return readDecision(answer.body)
  }

  return {
    surface,
    call,
    credential,
    createJob,
    readDecision,
    getDecision,
    pauses,
    /** Two long polls, then plain ones further and further apart. */
    async poll(slot_id: string): Promise<OldDecision> {
      for (let count = 0; count < 2; count++) {
        const decision = await getDecision(slot_id, long_poll_ms)
        if (decision.status === 'ready') return decision
      }
      for (let count = 0; count < 120; count++) {
        const pause = Math.min(2_000, 250 * 1.5 ** count)
        pauses.push(pause)
        await sleep(pause + Math.random() * 100)
        const decision = await getDecision(slot_id)
        if (decision.status === 'ready') return decision
      }
      return fault('never decided')
    },
    reportGeneration: async (job_id: string, generation_event: string, more: object = {}) =>
      call('POST', `/public/${surface}/v1/jobs/${job_id}/generation`, {
        contract_version: 'csl_wrapper_generation_event/v1',
        generation_event,
        ...more,
      }),
    sendBeacon: async (beacon: object, more: RequestInit = {}) =>
      call(
        'POST',
        `/public/${surface}/v1/beacons`,
        { contract_version: 'csl_wrapper_beacon/v1', occurred_at_ms_client: now(), ...beacon },
        undefined,
        more,
      ),
  }
}
