/** Asks the running sandbox what the checks are told of it and of its traffic. Only its control plane is called. */
import type { Client } from '../../client/client.ts'
import type { SandboxInfo } from '../../contract/control/health.ts'
import type { RequestItem } from '../../contract/control/requests.ts'
import { checkAgent, checkPrefix } from '../contract-check/mark.ts'
import { version } from '../version.ts'
import type { SandboxFacts } from './sandbox-facts.ts'
import { type Exchange, type ExchangeDetail, pathOf, type Traffic } from './traffic.ts'

/** How far back the look goes. */
const mostExchanges = 1_000
/** Exchanges whose headers and bodies are read: of refused ones, and of each route that a check reads. */
const mostRefused = 200
const mostOfRoute = 100
/** A service that runs answers at once or not at all. */
const answerWithinMs = 5_000
/** Errors of a service that did not answer. */
const silences: ReadonlySet<string> = new Set(['UnreachableError', 'TimeoutError'])
/** Requests under way at once. */
const atOnce = 8

/** Who answers at the base URL; the info where it is a sandbox. */
export async function findService(
  client: Client,
): Promise<{ service: 'sandbox' | 'other' | 'none'; info: SandboxInfo | null }> {
  try {
    return { service: 'sandbox', info: await client.sandbox.info({}, { signal: AbortSignal.timeout(answerWithinMs) }) }
  } catch (error) {
    const isSilent = error instanceof Error && silences.has(error.name)
    return { service: isSilent ? 'none' : 'other', info: null }
  }
}

export async function gatherSandbox(client: Client, info: SandboxInfo, command_name: string): Promise<SandboxFacts> {
  const integrity = await client.sandbox.integrity().catch((error: Error) => ({ failure: error.message }))
  return { info, integrity, version, command_name }
}

export async function gatherTraffic(
  client: Client,
  info: SandboxInfo,
  since: string | undefined,
  about: Pick<Traffic, 'client_id' | 'command_name'>,
): Promise<Traffic> {
  const query = { limit: mostExchanges, ...(since === undefined ? {} : { since }) }
  const { items: own } = await client.requests.find({ body: { headers: { 'user-agent': checkAgent }, ...query } })
  const ownIds = new Set(own.map(({ request_id }) => request_id))
  const listed = await client.requests.list({ query })
  const items = listed.items.filter(({ request_id }) => !ownIds.has(request_id))
  const details = await readDetails(client, items)
  const { items: placements } = await client.placements.list({ query })
  const { items: beacons } = await client.beacons.list({ query })
  return {
    exchanges: items.map((item): Exchange => ({ ...item, detail: details.get(item.request_id) ?? null })).reverse(),
    placements: placements.filter(({ session_id }) => session_id?.startsWith(checkPrefix) !== true),
    beacons: beacons.filter(({ beacon_id }) => beacon_id?.startsWith(checkPrefix) !== true),
    projects: info.projects,
    now_ms: info.clock.now_ms,
    ...about,
  }
}

/** The details of the newest of each kind that a check reads. `items` are newest first. */
async function readDetails(client: Client, items: readonly RequestItem[]): Promise<Map<string, ExchangeDetail>> {
  const isOf = (path: RegExp) =>
    items.filter((item) => item.status < 400 && path.test(pathOf(item))).slice(0, mostOfRoute)
  const wanted = new Set(
    [
      ...items.filter(({ status }) => status >= 400).slice(0, mostRefused),
      ...isOf(/^\/v1\/(placements|jobs)$/),
      ...isOf(/^\/v1\/beacons$/),
      ...isOf(/^\/v1\/browser\/activate$/),
      ...isOf(/^\/v1\/projects\/[^/]+\/config$/),
    ].map(({ request_id }) => request_id),
  )
  const details = new Map<string, ExchangeDetail>()
  const waiting = [...wanted]
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        const detail = await readDetail(client, id)
        if (detail !== null) details.set(id, detail)
      }
    }),
  )
  return details
}

/** Null when it has gone from the journal meanwhile. */
async function readDetail(client: Client, request_id: string): Promise<ExchangeDetail | null> {
  const found = await client.requests.show({ params: { request_id } }).catch((error: Error & { status?: number }) => {
    if (error.status === 404) return null
    throw error
  })
  if (found === null) return null
  const { request_headers, response_headers, request_body, response_body } = found
  return {
    request_headers,
    response_headers,
    request_body: readJson(request_body),
    response_body: readJson(response_body),
  }
}

function readJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}
