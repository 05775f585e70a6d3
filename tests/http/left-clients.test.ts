/** What the journal has of a request whose client has left: no response, and why. */
import { connect as openSocket } from 'node:net'
import { expect, test } from 'vitest'
import type { RequestItem } from '#contract/resources/requests.ts'
import { asked, key, type Stage, stage } from './stage.ts'

/** Sends a placement, and leaves once the sandbox works on it. */
async function askAndLeave(on: Stage, isAtWork: () => Promise<boolean>): Promise<void> {
  const gone = new AbortController()
  const sent = on.api.send('POST', '/v1/placements?wait_ms=5000', { as: key, body: asked(), signal: gone.signal })
  await expect.poll(isAtWork).toBe(true)
  gone.abort()
  await expect(sent).rejects.toThrow()
}

async function onlyRow(on: Stage): Promise<RequestItem> {
  const list = async () => (await on.api.accept('requests.list')).body.items
  await expect.poll(async () => (await list()).length).toBe(1)
  return (await list())[0]!
}

async function findProblem(on: Stage, { request_id }: RequestItem): Promise<unknown> {
  const { body } = await on.api.accept('requests.show', { params: { request_id } })
  expect(body.response_body).toBe('')
  return body.response_headers['x-sandbox-problem']
}

test('a client that left while it waited got no response: the row has the status 0, the slot, and what it missed', async () => {
  await using on = await stage({ decision_latency_ms: 60_000 })
  const slots = async () => (await on.api.accept('placements.list')).body.items
  await askAndLeave(on, async () => (await slots()).length === 1)
  const row = await onlyRow(on)
  expect(row).toMatchObject({ status: 0, reason_code: null, slot_id: (await slots())[0]!.slot_id })
  expect(await findProblem(on, row)).toBe('The client left before it got the response, 200.')
})

test('a client that left while a fault delayed its request is in the journal, and nothing was created', async () => {
  await using on = await stage()
  const { fault_id } = (await on.api.accept('faults.add', { body: { effect: 'delay', latency_ms: 30_000 } })).body
  const faults = async () => (await on.api.accept('faults.list')).body.items
  await askAndLeave(on, async () => (await faults()).find((fault) => fault.fault_id === fault_id)?.matched === 1)
  const row = await onlyRow(on)
  expect(row).toMatchObject({ status: 0, reason_code: null, slot_id: null })
  expect(await findProblem(on, row)).toBe('The client left before the request took effect.')
  expect((await on.api.accept('placements.list')).body.items).toEqual([])
})

test('a client that left in the middle of its body got no response either; the cause stays', async () => {
  await using on = await stage()
  const { hostname, port } = new URL(on.sandbox.url)
  const socket = openSocket(Number(port), hostname)
  const head = `POST /v1/placements HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${key}\r\n`
  const beginning = `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"client_id":`
  await new Promise((resolve) => socket.write(beginning, resolve))
  // A later request has its response: the sandbox is reading this one.
  for (let round = 0; round < 10; round++) await on.api.accept('health.live')
  socket.destroy()
  const row = await onlyRow(on)
  expect(row).toMatchObject({ status: 0, reason_code: 'http_malformed' })
  expect(await findProblem(on, row)).toBe('The client left before it got the response, 400.')
})
