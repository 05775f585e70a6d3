/** `svc start --detach`: each way in which it returns, fails or is interrupted, with real processes. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folderState } from '#cli/settings/sandbox-folder.ts'
import { root, spawnSvc } from '#tests/cli/process.ts'
import type { Result } from '#tests/cli/test-cli.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

interface Ready {
  url: string
  pid: number
  database: string
}

/** A state directory; after the test, what is left in the background is stopped. */
function ownHome(): string {
  const home = temporaryDirectory()
  onTestFinished(async () => {
    await spawnSvc(['sandbox', 'stop', '--all'], { SVC_HOME: home }).ended
  })
  return home
}

/** What a state directory has for a working directory. */
function partOf(home: string, cwd = home): string {
  return folderState({ cwd, env: { SVC_HOME: home }, home, platform: process.platform }).directory
}

/** Runs a command line in a state directory. */
async function svc(home: string, words: string, cwd = home): Promise<Result> {
  return patient(await spawnSvc(words.split(' '), { SVC_HOME: home }, cwd).ended)
}

/** Returns stderr without the progress that is printed after a second, as on a busy machine. */
function patient(ended: Result): Result {
  return { ...ended, stderr: ended.stderr.replace(/^(waiting|stopping) .*\n/gm, '') }
}

// Only /proc shows it.
const linuxTest = process.platform === 'linux' ? test : null
linuxTest?.('a process whose parent never reads its exit code has ended', async () => {
  const home = ownHome()
  const start = `"${process.execPath}" "${join(root, 'bin/svc.js')}" start --port 0 -o json`
  // As the first process of a container does that is not made for it.
  const parent = spawn('sh', ['-c', `${start} & exec sleep 600`], {
    env: { PATH: process.env.PATH, SVC_HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
    cwd: home,
  })
  onTestFinished(() => void parent.kill())
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const { url, pid } = JSON.parse(String(line)) as Ready
  expect(await svc(home, 'sandbox stop')).toEqual({ code: 0, stdout: `stopped ${url} (pid ${pid})\n`, stderr: '' })
  expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /)
  writeFileSync(join(home, `sandboxes/${pid}.json`), '{}')
  expect(await svc(home, 'sandbox ps')).toEqual({
    code: 0,
    stdout: '',
    // A sandbox of another home may be at the usual address.
    stderr: expect.stringMatching(/^(No sandbox|None of your sandboxes) is running\. /),
  })
})

test('prints the block, with the log file and how to stop it', async () => {
  const home = ownHome()
  const { code, stdout } = await svc(home, 'start --detach --port 0 --ephemeral')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^svc \S+: the sandbox is ready$/m)
  expect(stdout).toContain(join(partOf(home), 'logs'))
  expect(stdout).toMatch(/^It runs in the background. Stop it: svc sandbox stop$/m)
  expect(stdout).not.toContain('Ctrl-C')
  const second = await svc(home, 'start --detach --port 0 --ephemeral')
  const [, stop = ''] = second.stdout.match(/^It runs in the background. Stop it: svc (.+)$/m) ?? []
  expect(await svc(home, stop)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^stopped /) })
})

test('a failing start reports the same as in the foreground, and leaves neither process nor log', async () => {
  const home = ownHome()
  const first = JSON.parse((await svc(home, 'start --detach --port 0 -o json')).stdout) as Ready
  const inForeground = await svc(home, 'start --port 0')
  expect(inForeground).toMatchObject({ code: 8, stderr: expect.stringContaining(`(pid ${first.pid})`) })
  expect(await svc(home, 'start --port 0 --detach')).toEqual(inForeground)
  const asJson = await svc(home, 'start --port 0 --detach -o json')
  expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { category: 'busy', code: 'database_in_use' } })
  expect(readdirSync(join(partOf(home), 'logs'))).toHaveLength(1)
  expect(readdirSync(join(home, 'sandboxes'))).toEqual([expect.stringMatching(`^${first.pid}(-\\d+)?\\.json$`)])
})

test('a disk with no room for its log is reported as that, and no empty log is left', async () => {
  const home = ownHome()
  // As on a full disk, every write to a file fails, with EFBIG in place of ENOSPC.
  const words = ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, join(root, 'bin/svc.js')]
  const { stdout, stderr, status } = spawnSync('sh', [...words, 'start', '--detach', '--port', '0'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SVC_HOME: home },
    cwd: home,
  })
  const reported = patient({ code: 0, stdout, stderr }).stderr.replace(/(?<=logs\/)\S+/, 'LOG')
  expect({ stdout, stderr: reported, status }).toEqual({
    stdout: '',
    stderr: [
      `error: ${partOf(home)}/logs/LOG cannot be written: the file is too large.`,
      'hint: Set SVC_HOME to a directory that you own. Without one: svc start --ephemeral, or svc exec -- CMD',
      '',
    ].join('\n'),
    status: 2,
  })
  expect(readdirSync(join(partOf(home), 'logs'))).toEqual([])
})

test('an interrupt before it is ready leaves no process', async () => {
  const home = ownHome()
  const { child, ended } = spawnSvc(['start', '--detach', '--port', '0', '-o', 'json'], { SVC_HOME: home }, home)
  const logs = join(partOf(home), 'logs')
  await expect.poll(() => existsSync(logs) && readdirSync(logs).length).toBe(1)
  child.kill('SIGINT')
  const { code, stdout } = await ended
  // It may have become ready at that very moment: then it is running, and printed.
  expect([0, 130]).toContain(code)
  const listed = JSON.parse((await svc(home, 'sandbox ps -o json')).stdout) as unknown[]
  expect(listed).toHaveLength(code === 0 ? 1 : 0)
  expect(stdout === '').toBe(code === 130)
  expect(existsSync(join(partOf(home), 'sandbox.db.lock'))).toBe(code === 0)
})

test('options of svc.config.json reach the process in the background', async () => {
  const home = ownHome()
  writeFileSync(
    join(home, 'svc.config.json'),
    JSON.stringify({ sandbox: { db: 'data/own.db', port: 1, strict: true } }),
  )
  const { stdout, stderr } = await svc(home, 'start --detach --port 0 -o json')
  expect(stderr).toBe(
    `From ${join(home, 'svc.config.json')}: db, strict.\nStrict: only the API document, without the routes of old clients.\n`,
  )
  const { url, database } = JSON.parse(stdout) as Ready
  expect(database).toBe(join(home, 'data/own.db'))
  expect((await fetch(`${url}/public/wrapper/v1/jobs`, { method: 'POST' })).status).toBe(404)
})
