/** A reset under load: no half of anything is left, and nobody is told of a failure of ours. */
import { Client, request } from 'undici'
import { expect, test } from 'vitest'
import { startSandbox } from '../../sandbox/index.ts'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { contract } from '../../src/contract/index.ts'
import type { PlacementResponse } from '../../src/contract/v1/placements.ts'
import { problemOf } from './answers.ts'

test('resets among placements, frames and beacons leave nothing broken', async () => {
  const reports: unknown[] = []
  await using sandbox = await startSandbox({ rate_limit: 'off', report: (error) => reports.push(error) })
  const problems: string[] = []
  let isRunning = true
  const ask = async (client: Client, endpoint: Endpoint, path: string, body?: object) => {
    const reply = await client.request({
      method: endpoint.method,
      path,
      headers: { authorization: `Bearer ${sandbox.keys.secret_key}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const answer = { status: reply.statusCode, headers: reply.headers, body: await reply.body.text() }
    const problem = problemOf(answer, endpoint)
    if (problem !== null) problems.push(`${path}: ${problem}`)
    return answer
  }
  const lane = async () => {
    const client = new Client(sandbox.url)
    while (isRunning) {
      const placed = await ask(client, contract['placements.create'], '/v1/placements', {
        client_id: 'proj_demo',
        session_id: 'reset',
        job_type: 'chat',
      })
      if (placed.status !== 200) continue
      const { decision } = JSON.parse(placed.body) as PlacementResponse
      const asset_token = decision?.asset_token ?? ''
      await ask(client, contract['render.frame'], `/v1/render/${asset_token}`)
      for (const event of ['render', 'visible', 'render']) {
        const beacon = { beacon_id: `reset.${event}`, asset_token, event, occurred_at_ms: Date.now() }
        await ask(client, contract['beacons.send'], '/v1/beacons', beacon)
      }
    }
    await client.close()
  }
  const lanes = Array.from({ length: 16 }, lane)
  const client = new Client(sandbox.url)
  for (let turn = 0; turn < 40; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    await ask(client, contract['sandbox.reset'], '/_sandbox/reset', {})
    for (const id of ['beacons.list', 'placements.list', 'requests.list', 'evidence.verify'] as const) {
      const answer = await ask(client, contract[id], contract[id].path)
      expect(answer.status, answer.body).toBe(200)
    }
  }
  isRunning = false
  await Promise.all(lanes)
  await client.close()
  const verified = await request(`${sandbox.url}/_sandbox/evidence/verify`)
  expect(await verified.body.json()).toMatchObject({ ok: true })
  expect(problems.slice(0, 5)).toEqual([])
  expect(reports.slice(0, 5)).toEqual([])
})
