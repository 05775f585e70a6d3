/** Asks the running sandbox what the checks are told of it and of its traffic. Only its control plane is called. */

import { version } from '../../cli/run/program-info.ts'
import type { Client } from '../../client/client.ts'
import type { RequestItem } from '../../contract/control/requests.ts'
import type { SandboxInfo } from '../../contract/control/sandbox.ts'
import { contractCheckClient } from '../../contract/headers.ts'
import type { SandboxFacts } from '../doctor/sandbox-facts.ts'
import { pathOf, type Traffic } from '../exchange.ts'
import { readTraffic } from '../read.ts'

/** How far back the look goes. */
const mostExchanges = 1_000
/** Exchanges whose headers and bodies are read: of refused ones, and of each route that a check reads. */
const mostRefused = 200
const mostOfRoute = 100
/** A service that runs answers at once or not at all. */
const answerWithinMs = 5_000
/** Errors of a service that did not answer. */
const silences: ReadonlySet<string> = new Set(['UnreachableError', 'TimeoutError'])

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
  return readTraffic(
    client,
    info,
    {
      since,
      most: mostExchanges,
      detailsOf,
      leaveOut: { user_agent: contractCheckClient.user_agent, prefix: contractCheckClient.session_prefix },
    },
    about,
  )
}

/** The details of the newest of each kind that a check reads. `items` are newest first. */
function detailsOf(items: readonly RequestItem[]): RequestItem[] {
  const isOf = (path: RegExp) =>
    items.filter((item) => item.status < 400 && path.test(pathOf(item))).slice(0, mostOfRoute)
  return [
    ...items.filter(({ status }) => status >= 400).slice(0, mostRefused),
    ...isOf(/^\/v1\/(placements|jobs)$/),
    ...isOf(/^\/v1\/beacons$/),
    ...isOf(/^\/v1\/browser\/activate$/),
    ...isOf(/^\/v1\/projects\/[^/]+\/config$/),
  ]
}
