/**
 * `test` with a sandbox for each worker: in this process, in memory, reset before each test, on a clock that only the test
 * moves.
 */
import { sandboxTest, type TestSandbox } from 'svc-sandbox/vitest'
import type { Service, Turn } from '../src/sponsored.ts'

export { expect } from 'svc-sandbox/vitest'

export const test = sandboxTest({ seed: 1, clock_start_ms: Date.UTC(2026, 0, 31, 12) })
  // Controls the sandbox, and reads the requests it received.
  .extend('client', ({ sandbox }) => sandbox.client)
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
export async function received(client: TestSandbox['client'], path: string): Promise<number> {
  const { count } = await client.requests.count({ body: { path } })
  return count
}
