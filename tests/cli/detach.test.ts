/** `svc start --detach`, once as a process; tests/processes has the rest. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { spawnSvc } from './process.ts'
import { realProcesses, svc, temporaryDirectory } from './test-cli.ts'

test('returns when it is ready, with the one line and its log, and svc sandbox stop ends it', async () => {
  const home = temporaryDirectory()
  const here = (args: string) => svc(args, { env: { SVC_HOME: home }, system: { ...realProcesses, now: Date.now } })
  onTestFinished(async () => void (await here('sandbox stop --all')))
  const { code, stdout, stderr } = await spawnSvc(
    ['start', '--detach', '--port', '0', '-o', 'json'],
    { SVC_HOME: home },
    home,
  ).ended
  // What takes longer than a second says so.
  expect({ code, stderr: stderr.replace(/^waiting .*\n/, '') }).toEqual({ code: 0, stderr: '' })
  const ready = JSON.parse(stdout) as { url: string; pid: number; database: string; log_file: string }
  expect(dirname(ready.log_file)).toBe(join(dirname(ready.database), 'logs'))
  expect((await fetch(`${ready.url}/_sandbox/readyz`)).status).toBe(200)
  expect((await here('placements create --expect fill -o none')).code).toBe(0)
  expect((await here('sandbox stop')).stdout).toBe(`stopped ${ready.url} (pid ${ready.pid})\n`)
  expect(readFileSync(ready.log_file, 'utf8')).toBe('SIGTERM: stopping\nstopped\n')
  expect(readdirSync(join(home, 'sandboxes'))).toEqual([])
})
