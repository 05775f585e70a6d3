/** `test` with a sandbox of its own for each test: in this process, in memory, on a clock that only the test moves. */
import { type Client, createClient } from 'svc/client'
import { manualClock, startSandbox } from 'svc/sandbox'
import { test as base } from 'vitest'
import type { Service, Turn } from '../src/sponsored.ts'

export const test = base
  .extend('clock', () => manualClock(Date.UTC(2026, 0, 31, 12)))
  .extend('sandbox', async ({ clock }, { onCleanup }) => {
    const sandbox = await startSandbox({ seed: 1, clock })
    onCleanup(() => sandbox.close())
    return sandbox
  })
  // Administers the sandbox, and asks it what it has received.
  .extend('client', ({ sandbox }) => createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key }))
  // The integration's view of it. Its `sleep` moves the clock instead of waiting.
  .extend('service', ({ sandbox, clock }): Service => {
    const { client_id, secret_key } = sandbox.keys
    const sleep = async (ms: number) => clock.advance(ms)
    return { base_url: sandbox.url, client_id, secret_key, now: () => clock.now(), sleep }
  })

/** A turn whose user has consented to ads, and to nothing more. */
export function turn(changes: Partial<Turn> = {}): Turn {
  return {
    session_id: 'session-1',
    job_type: 'chat',
    formats: ['banner'],
    consent: { semantic_targeting: false, prompt_shared: false },
    ...changes,
  }
}

/** How many requests the sandbox has received. */
export async function received(client: Client, path: string): Promise<number> {
  const { count } = await client.requests.count({ body: { path } })
  return count
}
