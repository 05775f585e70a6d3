/** Linux on ARM, under QEMU: the package with its native module. A start of Node takes seconds there. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { temporaryDirectory } from '../temporary.ts'
import { Computer } from './run.ts'

const computer = new Computer('arm64')

test('svc prints its version', async () => {
  expect(await computer.svc(['--version'])).toEqual({ code: 0, stdout: `${inject('version')}\n`, stderr: '' })
})

test('a sandbox with a database places, takes a beacon, and ends by itself when it is asked to stop', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  const { ready, ended, kill } = await computer.start(['--db', database])
  try {
    expect(ready.database).toBe(database)
    const post = async (path: string, body: object) => {
      const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
      const response = await fetch(`${ready.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    }
    const placed = await post('/v1/placements', { client_id: 'proj_demo', session_id: 's', job_type: 'chat' })
    expect(placed).toMatchObject({ status: 200, body: { decision: { fill: true } } })
    const { asset_token } = placed.body.placement as { asset_token: string }
    expect(
      await post('/v1/beacons', { asset_token, event: 'render', beacon_id: 'beacon-1', occurred_at_ms: Date.now() }),
    ).toMatchObject({ status: 200 })
    const { items } = (await (await fetch(`${ready.url}/_sandbox/beacons`)).json()) as { items: { verdict: string }[] }
    expect(items.map(({ verdict }) => verdict)).toEqual(['accepted'])
    expect(await computer.svc(['sandbox', 'stop'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('stopped'),
    })
    expect(await ended).toMatchObject({ code: 0 })
    expect([`${database}.lock`, `${database}-wal`].filter((file) => existsSync(file))).toEqual([])
  } finally {
    kill()
  }
})

test('exec runs a program with the sandbox, and takes its exit code', async () => {
  const script = 'test -n "$SVC_BASE_URL" && echo "$1" && exit 7'
  expect(await computer.svc(['exec', '-q', '--', 'sh', '-c', script, 'sh', 'a b & "c"'])).toEqual({
    code: 7,
    stdout: 'a b & "c"\n',
    stderr: '',
  })
})
