/** The other sandboxes of this user: what an app sends to one of them is not seen by a watch of another. */

import { commandClient } from '#cli/run/command-client.ts'
import type { System } from '#cli/run/system.ts'
import { permittedControlToken } from '#cli/settings/settings.ts'
import { type Locator, runningSandboxes, stateDirectory } from '#cli/settings/state-directory.ts'
import type { Client } from '#client/client.ts'
import { isOwnRequest } from '#contract/own-requests.ts'
import { plural } from '#text/text.ts'

const timeout_ms = 2_000
/** More are not counted. */
const maxCounted = 100

/**
 * Notes the newest request of every running sandbox but the one at `base_url`. Returns a function that resolves to a sentence about
 * the first that has got requests of an app since, or null.
 */
export async function watchOtherSandboxes(system: System, base_url: string): Promise<() => Promise<string | null>> {
  const others = (await runningSandboxes(stateDirectory(system), system)).filter(({ url }) => url !== base_url)
  const noted = await Promise.all(
    others.map(async (sandbox) => {
      const client = openClient(system, sandbox)
      return { url: sandbox.url, client, newest: await findNewest(client) }
    }),
  )
  return async () => {
    for (const { url, client, newest } of noted) {
      const count = newest === undefined ? 0 : await countSince(client, newest)
      if (count === 0) continue
      const requests = count === maxCounted ? `${maxCounted} requests or more` : plural(count, 'request')
      return `The sandbox at ${url} got ${requests} in that time: the app has that address. Let it read SVC_BASE_URL, or watch that one: --base-url ${url}`
    }
    return null
  }
}

function openClient(system: System, sandbox: Locator): Client {
  const admin_token = permittedControlToken({ base_url: sandbox.url, allow_http: false, sandbox })
  return commandClient(system, { base_url: sandbox.url, timeout_ms, validate: true, admin_token })
}

/** Resolves to the id of the newest request; null without one, undefined for a sandbox that does not respond. */
async function findNewest(client: Client): Promise<string | null | undefined> {
  const read = client.requests.list({ query: { limit: 1 } })
  return read.then(
    ({ items }) => items[0]?.request_id ?? null,
    () => undefined,
  )
}

async function countSince(client: Client, newest: string | null): Promise<number> {
  const after = newest === null ? {} : { after: newest }
  const read = client.requests.list({ query: { ...after, limit: maxCounted, details: 'true' } })
  return read.then(
    ({ items }) => items.filter(({ request_headers = {} }) => !isOwnRequest(request_headers)).length,
    () => 0,
  )
}
