/** `svc start --store` as processes: what the line of each node says, what the token in it opens, and how one is stopped. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Running, spawnSvc } from '#tests/cli/process.ts'
import { connect } from '#tests/http/call.ts'
import { temporaryDirectory, textsIn } from '#tests/temporary.ts'
import { startPostgres } from './server.ts'
import { storeOfItsOwn } from './shared-store.ts'

interface Line {
  url: string
  namespace: string
  nodes: number
  admin_token?: string
}

test('the first line has the admin token of every node, later ones that of their node, and behind a balancer none', async () => {
  const { store = '' } = await storeOfItsOwn()
  const namespace = randomBytes(4).toString('hex')
  const running: Running[] = []
  const homes: string[] = []
  const start = async (...more: string[]): Promise<Line> => {
    const SVC_HOME = temporaryDirectory()
    const node = spawnSvc(['start', '--port', '0', '--store', store, '--namespace', namespace, '-o', 'json', ...more], {
      SVC_HOME,
    })
    running.push(node)
    homes.push(SVC_HOME)
    return JSON.parse(await node.firstLine) as Line
  }
  try {
    const lines = [await start(), await start(), await start('--public-url', 'http://sandbox.example')]
    expect(lines.map(({ namespace: of, nodes }) => [of, nodes])).toEqual([1, 2, 3].map((nodes) => [namespace, nodes]))
    const [first, later, behind] = lines.map(({ admin_token }) => admin_token)
    expect(behind).toBeUndefined()
    /** The statuses that the nodes give to a request which needs the role admin. */
    const statuses = (token = '') =>
      Promise.all(
        lines.map(async ({ url }) => {
          const headers = { 'x-sandbox-token': token }
          return (await connect({ url }).send('GET', '/_sandbox/tokens', { headers })).status
        }),
      )
    expect(await statuses(first)).toEqual([200, 200, 200])
    expect(await statuses(later)).toEqual([403, 200, 403])
    expect(await statuses()).toEqual([403, 403, 403])
    const files = homes.flatMap(textsIn)
    expect(files.filter((text) => text.includes(namespace))).toHaveLength(3)
    expect(files.filter((text) => text.includes(':secret'))).toEqual([])
  } finally {
    for (const { child } of running) child.kill('SIGINT')
    const ended = await Promise.all(running.map((node) => node.ended))
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0])
    for (const { stdout, stderr } of ended) expect(stdout + stderr).not.toContain(':secret')
  }
})

test('a namespace that no node serves is deleted by its name', async () => {
  const { store = '' } = await storeOfItsOwn()
  const env = { SVC_HOME: temporaryDirectory() }
  const start = (namespace: string) =>
    spawnSvc(['start', '--port', '0', '--store', store, '--namespace', namespace, '-o', 'json'], env)
  const old = start('pr-1')
  await old.firstLine
  old.child.kill('SIGTERM')
  expect((await old.ended).code).toBe(0)
  const node = start('pr-2')
  try {
    await node.firstLine
    const remove = ['team', 'namespaces', 'delete', 'pr-1', '--yes']
    expect(await spawnSvc(remove, env).ended).toMatchObject({ code: 0, stdout: 'Deleted.\n' })
    expect((await spawnSvc(remove, env).ended).code).not.toBe(0)
    expect((await spawnSvc(['team', 'namespaces', 'list', '-o', 'json'], env).ended).stdout).not.toContain('pr-1')
  } finally {
    node.child.kill('SIGTERM')
    await node.ended
  }
})

test('a node whose database is lost is stopped by sandbox stop', async () => {
  const server = await startPostgres()
  const env = { SVC_HOME: temporaryDirectory() }
  const node = spawnSvc(['start', '--port', '0', '--store', server.url, '-o', 'json'], env)
  try {
    const { url } = JSON.parse(await node.firstLine) as Line
    await server.stop()
    await expect.poll(async () => (await fetch(`${url}/_sandbox/readyz`)).status).toBe(503)
    const { stdout } = await spawnSvc(['sandbox', 'stop'], env).ended
    expect(stdout).toBe(`stopped ${url} (pid ${node.child.pid})\n`)
    expect((await node.ended).code).toBe(0)
  } finally {
    node.child.kill('SIGKILL')
    await server.stop()
  }
})
