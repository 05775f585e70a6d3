/** A state directory that containers share, with processes in PID namespaces of their own. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type Running, spawnSvc } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { asPid1, hasPidNamespaces } from './pid-namespace.ts'

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
