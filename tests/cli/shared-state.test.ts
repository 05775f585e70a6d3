/** A state directory that containers share: pids of another PID namespace say nothing in this one. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readProcessStart } from '#cli/process/proc.ts'
import { ownProcess, runningSandboxes, writeLocator } from '#cli/settings/state-directory.ts'
import { temporaryDirectory } from './test-cli.ts'
import { noon } from './test-host.ts'

const locators = (home: string) => readdirSync(join(home, 'sandboxes'))
const noStart = async () => null

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
  const findStart = (pid = process.pid) => readProcessStart(pid, process.pid, process.platform)
  const child = spawn(process.platform === 'win32' ? 'timeout' : 'sleep', ['1000'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  const other = await findStart(child.pid)
  if (process.platform === 'win32') return expect([await findStart(), other]).toEqual([null, null])
  expect(await findStart()).toBe(await findStart())
  expect(new Set([await findStart(), other, null]).size).toBe(3)
  child.kill('SIGTERM')
  await once(child, 'exit')
  expect(await findStart(child.pid)).toBeNull()
})
