/** `svc start --detach`, `--open` and the options of svc.config.json, with real processes. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { root, spawnSvc } from './process.ts'
import { openScript } from './script-terminal.ts'
import { type Result, temporaryDirectory } from './test-cli.ts'

interface Ready {
  url: string
  pid: number
  database: string
  log_file: string
}

const homes = new Set<string>()

/** After the test, stops what is left in the background, while its directory is still there. */
function stopsAfterTest(home: string): void {
  if (homes.has(home)) return
  homes.add(home)
  onTestFinished(async () => {
    await spawnSvc(['sandbox', 'stop', '--all'], { SVC_HOME: home }).ended
  })
}

/** Runs a command line in a state directory. After the test, what it left in the background is stopped. */
async function svc(home: string, ...args: string[]): Promise<Result> {
  stopsAfterTest(home)
  return patient(await spawnSvc(args, { SVC_HOME: home }, home).ended)
}

/** Returns stderr without the progress that is printed after a second, as on a busy machine. */
function patient(ended: Result): Result {
  return { ...ended, stderr: ended.stderr.replace(/^(waiting|stopping) .*\n/gm, '') }
}

describe('svc start --detach', () => {
  test('returns when it is ready, with the one line and its log, and svc sandbox stop ends it', async () => {
    const home = temporaryDirectory()
    const { code, stdout, stderr } = await svc(home, 'start', '--detach', '--port', '0', '-o', 'json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const ready = JSON.parse(stdout) as Ready
    expect(ready).toMatchObject({ database: join(home, 'sandbox.db') })
    expect((await fetch(`${ready.url}/_sandbox/readyz`)).status).toBe(200)
    expect((await svc(home, 'placements', 'create', '--expect', 'fill', '-o', 'none')).code).toBe(0)
    expect((await svc(home, 'sandbox', 'stop')).stdout).toBe(`stopped ${ready.url} (pid ${ready.pid})\n`)
    expect(readFileSync(ready.log_file, 'utf8')).toBe('SIGTERM: stopping\nstopped\n')
    expect(readdirSync(join(home, 'sandboxes'))).toEqual([])
  })

  // Only /proc shows it.
  const linuxTest = process.platform === 'linux' ? test : null
  linuxTest?.('a process whose parent never reads its exit code has ended', async () => {
    const home = temporaryDirectory()
    const start = `"${process.execPath}" "${join(root, 'bin/svc.js')}" start --port 0 -o json`
    // As the first process of a container does that is not made for it.
    const parent = spawn('sh', ['-c', `${start} & exec sleep 60`], {
      env: { PATH: process.env.PATH, SVC_HOME: home },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    onTestFinished(() => void parent.kill())
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const { url, pid } = JSON.parse(String(line)) as Ready
    expect(await svc(home, 'sandbox', 'stop')).toEqual({ code: 0, stdout: `stopped ${url} (pid ${pid})\n`, stderr: '' })
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /)
    writeFileSync(join(home, `sandboxes/${pid}.json`), '{}')
    expect(await svc(home, 'sandbox', 'ps')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No sandbox is running. Start one: svc start\n',
    })
  })

  test('prints the block, with the log file and how to stop it', async () => {
    const home = temporaryDirectory()
    const { code, stdout } = await svc(home, 'start', '--detach', '--port', '0', '--ephemeral')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^svc \S+: the sandbox is ready$/m)
    expect(stdout).toContain(join(home, 'logs'))
    expect(stdout).toMatch(/^It runs in the background. Stop it: svc sandbox stop$/m)
    expect(stdout).not.toContain('Ctrl-C')
    const second = await svc(home, 'start', '--detach', '--port', '0', '--ephemeral')
    const [, stop = ''] = second.stdout.match(/^It runs in the background. Stop it: svc (.+)$/m) ?? []
    expect(await svc(home, ...stop.split(' '))).toMatchObject({ code: 0, stdout: expect.stringMatching(/^stopped /) })
  })

  test('a failing start reports the same as in the foreground, and leaves neither process nor log', async () => {
    const home = temporaryDirectory()
    const first = JSON.parse((await svc(home, 'start', '--detach', '--port', '0', '-o', 'json')).stdout) as Ready
    const inForeground = await svc(home, 'start', '--port', '0')
    expect(inForeground).toMatchObject({ code: 8, stderr: expect.stringContaining(`(pid ${first.pid})`) })
    expect(await svc(home, 'start', '--port', '0', '--detach')).toEqual(inForeground)
    const asJson = await svc(home, 'start', '--port', '0', '--detach', '-o', 'json')
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { category: 'busy', code: 'database_in_use' } })
    expect(readdirSync(join(home, 'logs'))).toHaveLength(1)
    expect(readdirSync(join(home, 'sandboxes'))).toEqual([expect.stringMatching(`^${first.pid}(-\\d+)?\\.json$`)])
  })

  test('a disk with no room for its log is reported as that, and no empty log is left', async () => {
    const home = temporaryDirectory()
    // As on a full disk, every write to a file fails, with EFBIG in place of ENOSPC.
    const words = ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, join(root, 'bin/svc.js')]
    const { stdout, stderr, status } = spawnSync('sh', [...words, 'start', '--detach', '--port', '0'], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, SVC_HOME: home },
    })
    const reported = patient({ code: 0, stdout, stderr }).stderr.replace(/(?<=logs\/)\S+/, 'LOG')
    expect({ stdout, stderr: reported, status }).toEqual({
      stdout: '',
      stderr: [
        `error: ${home}/logs/LOG cannot be written: the file is too large.`,
        'hint: Set SVC_HOME to a directory that you own. Without one: svc start --ephemeral, or svc exec -- CMD',
        '',
      ].join('\n'),
      status: 2,
    })
    expect(readdirSync(join(home, 'logs'))).toEqual([])
  })

  test('an option that the sandbox rejects is exit code 2', async () => {
    const { code, stderr } = await svc(
      temporaryDirectory(),
      'start',
      '--detach',
      '--ephemeral',
      '--scenario',
      'none_such',
    )
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('no scenario named none_such') })
  })

  test('a busy default port is noted', async () => {
    const home = temporaryDirectory()
    const blocker = createServer()
    const isBlocked = await new Promise((resolve) => {
      blocker.once('error', () => resolve(false)).listen(4010, '127.0.0.1', () => resolve(true))
    })
    onTestFinished(() => void (isBlocked && blocker.close()))
    const { code, stdout, stderr } = await svc(home, 'start', '--detach', '--ephemeral', '-o', 'json')
    expect(code).toBe(0)
    const { port } = new URL((JSON.parse(stdout) as Ready).url)
    expect(stderr).toMatch(new RegExp(`^Port 4010 is taken by .*: using ${port}\\.\n$`))
  })

  test('an interrupt before it is ready leaves no process', async () => {
    const home = temporaryDirectory()
    const { child, ended } = spawnSvc(['start', '--detach', '--port', '0', '-o', 'json'], { SVC_HOME: home }, home)
    const logs = join(home, 'logs')
    await expect.poll(() => existsSync(logs) && readdirSync(logs).length).toBe(1)
    child.kill('SIGINT')
    const { code, stdout } = await ended
    // It may have become ready at that very moment: then it is running, and printed.
    expect([0, 130]).toContain(code)
    const listed = JSON.parse((await svc(home, 'sandbox', 'ps', '-o', 'json')).stdout) as unknown[]
    expect(listed).toHaveLength(code === 0 ? 1 : 0)
    expect(stdout === '').toBe(code === 130)
    expect(existsSync(join(home, 'sandbox.db.lock'))).toBe(code === 0)
  })
})

describe('options of svc.config.json', () => {
  const write = (home: string, value: unknown) => writeFileSync(join(home, 'svc.config.json'), JSON.stringify(value))

  test('are used unless a flag is given; the database is relative to the file', async () => {
    const home = temporaryDirectory()
    mkdirSync(join(home, 'below'))
    write(home, { sandbox: { db: 'data/own.db', port: 1, rate_limit: '5/s' } })
    const words = ['start', '--detach', '--port', '0', '-o', 'json']
    const ended = patient(await spawnSvc(words, { SVC_HOME: home }, join(home, 'below')).ended)
    stopsAfterTest(home)
    expect(ended.stderr).toBe(`From ${join(home, 'svc.config.json')}: db, rate_limit.\n`)
    const ready = JSON.parse(ended.stdout) as Ready
    expect(ready.database).toBe(join(home, 'data/own.db'))
    const asked = Array.from({ length: 30 }, () =>
      fetch(`${ready.url}/v1/placements`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' },
        body: JSON.stringify({ client_id: 'proj_demo', session_id: 's', job_type: 'chat' }),
      }),
    )
    expect((await Promise.all(asked)).map(({ status }) => status)).toContain(429)
  })

  test('a flag about the database replaces those of the file, and --config names another file', async () => {
    const home = temporaryDirectory()
    writeFileSync(join(home, 'other.json'), '{"sandbox":{"db":"own.db","port":0}}')
    const words = ['start', '--detach', '--ephemeral', '--config', 'other.json', '-o', 'json']
    const { stdout } = await svc(home, ...words)
    expect(JSON.parse(stdout)).toMatchObject({ database: ':memory:' })
    expect(existsSync(join(home, 'own.db'))).toBe(false)
  })

  test.each([
    [{ port: 70_000 }, 'sandbox.port', 'must be 0 to 65535'],
    [{ rate_limit: 'often' }, 'sandbox.rate_limit', 'must be a rate such as 5/s or 1/min, or off'],
    [{ db: 'a.db', ephemeral: true }, 'sandbox.ephemeral', 'cannot be combined with db'],
    [{ prot: 1 }, 'sandbox', 'has no field prot'],
  ])('%j is refused by start and by config validate, with file and member', async (section, member, problem) => {
    const home = temporaryDirectory()
    write(home, { sandbox: section })
    const path = join(home, 'svc.config.json')
    const started = await svc(home, 'start', '--ephemeral')
    expect(started).toMatchObject({ code: 2, stdout: '' })
    expect(started.stderr).toContain(`error: ${path}, ${member}: ${problem}.`)
    const validated = await svc(home, 'config', 'validate')
    expect(validated).toMatchObject({ code: 2, stdout: `wrong  ${path}\n  ${member}: ${problem}\n` })
  })
})

describe('--open', () => {
  test('opens the demo in the browser, from a terminal', async () => {
    const { text, shown } = await withBrowser('start --detach --port 0 --ephemeral --open', 'exit 0')
    await expect.poll(text).toContain('code 0')
    expect(text()).toContain('Opened in the browser.')
    expect(shown()).toMatch(/^http:\S+\/_sandbox\/demo\n$/)
  })

  test('a browser that cannot be opened is noted, below the URL', async () => {
    const { text } = await withBrowser('start --detach --port 0 --ephemeral --open', 'exit 3')
    await expect.poll(text).toContain('code 0')
    expect(text()).toContain('Not opened, no browser was found.')
  })

  test('without a terminal nothing is opened: the URL is noted on stderr', async () => {
    const home = temporaryDirectory()
    const { stdout, stderr } = await svc(
      home,
      'start',
      '--detach',
      '--port',
      '0',
      '--ephemeral',
      '--open',
      '-o',
      'json',
    )
    const { url } = JSON.parse(stdout) as Ready
    expect(stderr).toBe(`Not opened, this is not a terminal: ${url}/_sandbox/demo\n`)
  })

  /** A terminal whose browser records the URL and ends with the given exit code. */
  async function withBrowser(args: string, ending: string) {
    const home = temporaryDirectory()
    const shown = join(home, 'shown')
    writeFileSync(join(home, 'xdg-open'), `#!/bin/sh\necho "$1" >> "${shown}"\n${ending}\n`)
    chmodSync(join(home, 'xdg-open'), 0o755)
    const PATH = `${home}${delimiter}${process.env.PATH}`
    const terminal = await openScript(args, { SVC_HOME: home, PATH, DISPLAY: ':0' })
    onTestFinished(async () => {
      await terminal.close()
      await spawnSvc(['sandbox', 'stop', '--all'], { SVC_HOME: home }).ended
    })
    return { text: () => terminal.screen.lines().join('\n'), shown: () => readFileSync(shown, 'utf8') }
  }
})
