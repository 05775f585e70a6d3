/** A state directory that containers share: pids of another PID namespace say nothing in this one. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readProcessStart } from '#cli/process/proc.ts'
import { ownProcess, runningSandboxes, writeLocator } from '#cli/settings/state-directory.ts'
import { asPid1, hasPidNamespaces } from './pid-namespace.ts'
import { type Running, spawnSvc } from './process.ts'
import { temporaryDirectory } from './test-cli.ts'
import { noon } from './test-host.ts'

const started: Running[] = []
afterAll(async () => {
  for (const { child } of started) child.kill('SIGKILL')
  await Promise.all(started.map(({ ended }) => ended))
})

function svc(home: string, words: readonly string[], prefix: readonly string[] = []): Running {
  const running = spawnSvc(words, { SVC_HOME: home }, home, prefix)
  started.push(running)
  return running
}

const locators = (home: string) => readdirSync(join(home, 'sandboxes'))
const starting = ['start', '--ephemeral', '--port', '0', '-o', 'json']

const noStart = async () => null

const namespaceTest = hasPidNamespaces ? test : null

namespaceTest?.('commands in another namespace leave the locator of a live sandbox alone, both ways', async () => {
  const home = temporaryDirectory()
  const outside = svc(home, starting)
  const { url } = JSON.parse(await outside.firstLine) as { url: string }
  const inside = svc(home, starting, asPid1)
  await inside.firstLine
  expect(locators(home)).toHaveLength(2)
  expect((await svc(home, ['sandbox', 'ps'], asPid1).ended).code).toBe(0)
  expect((await svc(home, ['sandbox', 'stop', '--all'], asPid1).ended).code).toBe(0)
  expect(locators(home)).toHaveLength(2)
  const listed = JSON.parse((await svc(home, ['sandbox', 'ps', '-o', 'json']).ended).stdout) as object[]
  expect(listed).toMatchObject([{ url, ready: true }])
  expect((await svc(home, ['sandbox', 'stop']).ended).code).toBe(0)
  expect(locators(home)).toHaveLength(1)
})

test('the same pid in two namespaces is two sandboxes, and only the own one is judged', async () => {
  const home = temporaryDirectory()
  const locator = { inspector_url: '', database: '', version: '1', projects: [], started_at_ms: noon, pid: 7 }
  await writeLocator(home, { ...locator, url: 'http://a.test', pid_scope: 'boot pid:[1]' })
  await writeLocator(home, { ...locator, url: 'http://b.test', pid_scope: 'boot pid:[2]' })
  const found = await runningSandboxes(home, {
    isRunning: () => true,
    readProcessStart: noStart,
    pid_scope: 'boot pid:[2]',
  })
  expect(found.map(({ url }) => url)).toEqual(['http://b.test'])
  expect(
    await runningSandboxes(home, { isRunning: () => false, readProcessStart: noStart, pid_scope: 'boot pid:[2]' }),
  ).toEqual([])
  writeFileSync(join(home, 'sandboxes/8-1.json'), '{"url":"of another version"}')
  expect(
    await runningSandboxes(home, { isRunning: () => false, readProcessStart: noStart, pid_scope: 'boot pid:[2]' }),
  ).toEqual([])
  expect(locators(home)).toEqual(['7-1.json', '8-1.json'])
})

test('a locator of an earlier boot, or of a namespace that is gone, is ignored', async () => {
  const home = temporaryDirectory()
  const locator = { inspector_url: '', database: '', version: '1', projects: [], started_at_ms: noon, pid: process.pid }
  await writeLocator(home, { ...locator, url: 'http://a.test', pid_scope: 'earlier pid:[2]' })
  await writeLocator(home, { ...locator, url: 'http://b.test', pid_scope: 'boot pid:[99]' })
  const system = { isRunning: () => true, readProcessStart: noStart, pid_scope: 'boot pid:[2]' }
  expect(await runningSandboxes(home, system)).toEqual([])
})

test('a process that took over the pid of a sandbox is not that sandbox', async () => {
  const home = temporaryDirectory()
  const locator = {
    url: 'http://a.test',
    inspector_url: '',
    database: '',
    version: '1',
    projects: [],
    started_at_ms: noon,
  }
  const system = {
    pid: 7,
    pid_scope: null,
    cwd: '/srv/shop',
    isRunning: () => true,
    readProcessStart: async () => '100',
  }
  await writeLocator(home, { ...locator, ...(await ownProcess(system)) })
  expect(await runningSandboxes(home, system)).toMatchObject([{ pid: 7, process_start: '100', folder: '/srv/shop' }])
  // Where no start is known, the pid alone decides.
  expect(await runningSandboxes(home, { ...system, readProcessStart: noStart })).toHaveLength(1)
  // A process that QEMU translates sees its own start some ticks late.
  expect(await runningSandboxes(home, { ...system, readProcessStart: async () => '97' })).toHaveLength(1)
  expect(await runningSandboxes(home, { ...system, readProcessStart: async () => '400' })).toEqual([])
  expect(locators(home)).toEqual([])
})

test('each process has its own start, which stays', async () => {
  const start = () => readProcessStart(process.pid, process.pid, process.platform)
  const child = svc(temporaryDirectory(), starting)
  await child.firstLine
  const other = await readProcessStart(child.child.pid!, process.pid, process.platform)
  if (process.platform === 'win32') return expect([await start(), other]).toEqual([null, null])
  expect(await start()).toBe(await start())
  expect(new Set([await start(), other, null]).size).toBe(3)
  child.child.kill('SIGTERM')
  await child.ended
  expect(await readProcessStart(child.child.pid!, process.pid, process.platform)).toBeNull()
})
