/** Starts and commands on disks, drivers and users that only a process can have, and two sandboxes in one state directory. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { root, spawnSvc } from '#tests/cli/process.ts'
import { readContents, refusedAs, unprivileged, usedDatabase } from '#tests/cli/refused-start.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test('on a PostgreSQL without its driver, which is optional', async () => {
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (name === 'pg') throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
      return next(name, context) } })`
  const home = temporaryDirectory()
  const url = `data:text/javascript,${encodeURIComponent(hook)}`
  const env = { SVC_HOME: home, SVC_STORE: 'postgres://svc@127.0.0.1/svc', NODE_OPTIONS: `--import=${url}` }
  const { ended, child } = spawnSvc(['start', '--port', '0', '-o', 'json'], env)
  onTestFinished(() => void child.kill('SIGKILL'))
  const { code, stderr } = await ended
  expect(code).toBe(2)
  expect(stderr).toContain('A store on PostgreSQL needs the package pg, which is not installed.')
  expect(stderr).toContain('npm install pg')
})

test('on a file that may not be written, beside which no log is left', async () => {
  const { home, database } = await usedDatabase()
  const state = temporaryDirectory()
  for (const folder of [state, home]) chmodSync(folder, 0o777)
  chmodSync(database, 0o444)
  const before = readContents(home)
  const refusal = await refusedAs(unprivileged(), state, ['--db', database])
  expect(refusal).toMatchObject({ code: 2, error: { category: 'usage', code: 'database_unwritable' } })
  expect(refusal.error.message).toContain(database)
  expect(readContents(home)).toEqual(before)
})

test('on a full disk, on which nothing of the try is left', async () => {
  const directory = temporaryDirectory()
  const script = [
    'mount -t tmpfs -o size=64k tmpfs "$0"',
    'dd if=/dev/zero of="$0/filler" bs=1024 count=56 2>/dev/null',
    'chmod 777 "$0"',
    '"$@"',
    'echo "code $?"; ls -A "$0"',
  ].join('; ')
  const words = [process.execPath, join(root, 'bin/svc.js'), 'start', '--port', '0', '-o', 'json']
  const output = execFileSync(
    'unshare',
    ['-Urm', 'sh', '-c', `exec 2>&1; ${script}`, directory, ...words, '--db', join(directory, 'sandbox.db')],
    { encoding: 'utf8', env: { PATH: process.env.PATH, SVC_HOME: temporaryDirectory() } },
  )
  const [reported, code, ...left] = output.trimEnd().split('\n')
  expect(JSON.parse(reported!)).toMatchObject({ error: { category: 'usage', code: 'database_unwritable' } })
  expect(code).toBe('code 2')
  expect(left).not.toContain('sandbox.db.lock')
  expect(left).toContain('filler')
})
test('what only saves a setting names the place and the cause, and does not suggest a start', async () => {
  const home = temporaryDirectory()
  // As on a full disk, every write to a file fails, with EFBIG in place of ENOSPC.
  const words = ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, join(root, 'bin/svc.js')]
  const { status, stderr } = spawnSync('sh', [...words, 'config', 'set', 'client_id', 'proj_demo'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SVC_HOME: home },
  })
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: `error: ${home}/profiles.json cannot be written: the file is too large.\nhint: Set SVC_HOME to a directory that you own.\n`,
  })
})

test('output that a full disk cuts off is a failure', () => {
  const home = temporaryDirectory()
  const words = [
    '-c',
    'ulimit -f 1; exec "$@" > openapi.json',
    'sh',
    process.execPath,
    join(root, 'bin/svc.js'),
    'contract',
    'openapi',
  ]
  const { status, stderr } = spawnSync('sh', words, {
    encoding: 'utf8',
    cwd: home,
    env: { PATH: process.env.PATH, SVC_HOME: home },
  })
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'error: The output cannot be written: the file is too large.\n',
  })
})

test('two sandboxes at once keep apart, in one state directory', async () => {
  const home = temporaryDirectory()
  const started = [
    spawnSvc(['start', '--port', '0', '-o', 'json'], { SVC_HOME: home }),
    spawnSvc(['start', '--port', '0', '--db', join(home, 'other.db'), '-o', 'json'], { SVC_HOME: home }),
  ]
  onTestFinished(() => {
    for (const { child } of started) child.kill('SIGKILL')
  })
  const urls = []
  for (const { firstLine } of started) urls.push((JSON.parse(await firstLine) as { url: string }).url)
  const svc = (...args: string[]) => spawnSvc(args, { SVC_HOME: home }).ended
  await svc('placements', 'create', '--base-url', urls[0]!, '-o', 'none')
  const counts = await Promise.all(
    urls.map((url) => svc('requests', 'verify', '--at-least', '0', '--jq', '.count', '--base-url', url)),
  )
  expect(counts.map(({ stdout }) => stdout)).toEqual(['1\n', '0\n'])
  expect(JSON.parse((await svc('sandbox', 'ps', '-o', 'json')).stdout)).toHaveLength(2)
  expect((await svc('sandbox', 'stop', '--all')).code).toBe(0)
  expect((await Promise.all(started.map(({ ended }) => ended))).map(({ code }) => code)).toEqual([0, 0])
  expect(readdirSync(join(home, 'sandboxes'))).toEqual([])
})
