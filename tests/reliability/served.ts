/** A sandbox as its clients see it: requests by path, and the bodies that tests of its process send. */
import { join } from 'node:path'
import { type Client, request } from 'undici'
import { expect } from 'vitest'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { Sandbox } from '#sandbox/index.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

export type Served = Pick<Sandbox, 'url'>

export const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }

export function newDatabase(): string {
  return join(temporaryDirectory(), 'sandbox.db')
}

export function buildPlacement(session_id: string) {
  return { client_id: 'proj_demo', session_id, job_type: 'chat', overrides: { allowed_formats: ['banner'] } }
}

export function buildBeacon(asset_token: string, beacon_id: string, event: string) {
  return { beacon_id, asset_token, event, occurred_at_ms: Date.now() }
}

export async function place(sandbox: Served, session_id: string, wait_ms = 1_500): Promise<PlacementResponse> {
  const { status, body } = await post(sandbox, `/v1/placements?wait_ms=${wait_ms}`, buildPlacement(session_id))
  expect(status, JSON.stringify(body)).toBe(200)
  return body as PlacementResponse
}

export async function get<T = unknown>({ url }: Served, path: string): Promise<T> {
  const reply = await request(`${url}${path}`, { headers: path.startsWith('/v1/') ? headers : {} })
  const body = (await reply.body.json()) as T
  expect(reply.statusCode, `${path}: ${JSON.stringify(body)}`).toBe(200)
  return body
}

export async function post({ url }: Served, path: string, body: object, client?: Client) {
  const options = { method: 'POST', headers, body: JSON.stringify(body) } as const
  const reply = await (client === undefined ? request(`${url}${path}`, options) : client.request({ ...options, path }))
  return { status: reply.statusCode, headers: reply.headers, body: await reply.body.json() }
}
