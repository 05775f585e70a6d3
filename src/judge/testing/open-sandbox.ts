import { withoutUndefined } from '#foundation/json.ts'
/** Opens the sandbox of a test: starts one in this process, or uses one that is already running. */

import { createClient } from '#client/index.ts'
import { sendDirectly } from '#client/node-fetch.ts'
import { pageOrigin } from '#contract/origins.ts'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import { type Sandbox, type SandboxOptions, type SandboxProject, startSandbox } from '#sandbox/index.ts'
import { describeMissingBeacon } from './describe-received.ts'
import { defaultWaitMs, eventually, sinceQuery, type TestSandbox } from './test-sandbox.ts'

/** The sandbox of a test with the methods that only fixtures call. */
export interface OpenTestSandbox extends TestSandbox {
  /** Ignores everything received so far: for a shared sandbox, which must not be reset. */
  beginTest(): Promise<void>
  close(): Promise<void>
}

/** Options of `startSandbox` that suit a test: it listens on a free loopback port and stores in memory. */
export type TestSandboxOptions = Omit<
  SandboxOptions,
  'port' | 'host' | 'public_url' | 'allowed_hosts' | 'tls' | 'database'
>

/** Starts a sandbox in this process. */
export async function startTestSandbox(options: TestSandboxOptions = {}): Promise<OpenTestSandbox> {
  const sandbox = await startSandbox(options)
  return openTestSandbox(sandbox, sandbox.projects, () => sandbox.close())
}

/**
 * Uses the sandbox that SVC_* variables name, as `svc exec` sets them.
 * @throws Error when no sandbox responds there
 */
export async function attachTestSandbox(env: Readonly<Record<string, string | undefined>>): Promise<OpenTestSandbox> {
  const { SVC_BASE_URL: url = '', SVC_CLIENT_ID, SVC_SECRET_KEY, SVC_PUBLISHABLE_KEY } = env
  const keys = {
    client_id: SVC_CLIENT_ID ?? 'proj_demo',
    secret_key: SVC_SECRET_KEY ?? 'sk_test_sandbox_demo',
    live_secret_key: 'sk_live_sandbox_demo',
    publishable_key: SVC_PUBLISHABLE_KEY ?? 'pk_test_sandbox_demo',
  }
  const control = createClient({ base_url: url, fetch: sendDirectly })
  const info = await control.sandbox.info().catch((error: Error) => {
    throw new Error(
      `SVC_BASE_URL is ${url}, where no sandbox responds (${error.message}). Unset it, so that the tests start their own sandbox, or start one there.`,
    )
  })
  const { allowed_origins = [] } = info.projects.find(({ client_id }) => client_id === keys.client_id) ?? {}
  return openTestSandbox({ url, keys }, [{ ...keys, allowed_origins }], async () => {})
}

function openTestSandbox(
  { url, keys }: Pick<Sandbox, 'url' | 'keys'>,
  projects: readonly SandboxProject[],
  close: () => Promise<void>,
): OpenTestSandbox {
  const client = createClient({ base_url: url, credential: keys.secret_key, fetch: sendDirectly })
  let since_ms: number | null = null
  const sandbox: OpenTestSandbox = {
    url,
    keys,
    projects,
    client,
    env: buildEnvironment(url, keys, projects[0]?.allowed_origins ?? []),
    get since_ms() {
      return since_ms
    },
    async beacons(filter = {}) {
      const { slot_id, session_id, client_id, format } = filter
      const items: BeaconItem[] = []
      let cursor: string | null = null
      do {
        const query = {
          slot_id,
          session_id,
          client_id,
          format,
          ...sinceQuery(sandbox),
          limit: 1_000,
          ...(cursor === null ? {} : { cursor }),
        }
        const page: { items: BeaconItem[]; next_cursor: string | null } = await client.beacons.list({
          query: withoutUndefined(query),
        })
        items.push(...page.items)
        cursor = page.next_cursor
      } while (cursor !== null)
      return items
    },
    async waitForBeacon(event, { timeout = defaultWaitMs, ...filter } = {}) {
      const caller = { stack: '' }
      Error.captureStackTrace(caller, sandbox.waitForBeacon)
      let found: BeaconItem | undefined
      const look = async () => {
        const beacons = await sandbox.beacons(filter)
        found = beacons.find((beacon) => beacon.event === event && beacon.verdict === 'accepted')
        return found !== undefined
      }
      if (await eventually(look, timeout)) return found!
      const error = new Error(await describeMissingBeacon(sandbox, event, filter, timeout))
      // Points to the line of the test, not to this file.
      error.stack = `Error: ${error.message}\n${caller.stack.replace(/^.*\n/, '')}`
      throw error
    },
    async reset() {
      await client.sandbox.reset({ body: {} })
      since_ms = null
    },
    async beginTest() {
      since_ms = (await client.clock.show()).now_ms
    },
    close,
  }
  return sandbox
}

function buildEnvironment(
  url: string,
  { client_id, secret_key, publishable_key }: Sandbox['keys'],
  allowed_origins: readonly string[],
): Record<string, string> {
  const origin = pageOrigin(allowed_origins)
  return {
    SVC_BASE_URL: url,
    SVC_CLIENT_ID: client_id,
    SVC_SECRET_KEY: secret_key,
    SVC_PUBLISHABLE_KEY: publishable_key,
    ...(origin === undefined ? {} : { SVC_ORIGIN: origin }),
  }
}
