/** `svc exec` with real programs: what they see, what their end gives, and that nothing of them stays. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Signal, System } from '#cli/run/system.ts'
import { startSandbox } from '#sandbox/index.ts'
import { type Following, follow } from './follow.ts'
import { root, spawnSvc } from './process.ts'
import { type RunOptions, realProcesses, svc, temporaryDirectory } from './test-cli.ts'

const bin = join(root, 'bin/svc.js')
const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
/** A command that goes on until it is ended. */
const waiting = 'sleep 1000'

/** Runs `svc exec WORDS` in a directory that is the state directory too. What its command prints is in the file `out`. */
function exec(words: string, { env, ...options }: RunOptions = {}, directory = temporaryDirectory()) {
  const system = { ...realProcesses, ...options.system }
  const given = { ...options, cwd: directory, env: { PATH, SVC_HOME: directory, ...env }, system }
  const running = follow(`exec ${words}`, given)
  onTestFinished(() => running[Symbol.asyncDispose]())
  return { ...running, directory, out: () => readFileSync(join(directory, 'out'), 'utf8') }
}

/** A command line of sh, as words of exec. */
const sh = (script: string) => `-- sh -c '${script}'`
/** A script of Node, as words of exec; it has no single quotes. */
const node = (script: string) => `-- ${process.execPath} -e '${script}'`

describe('what the command sees', () => {
  test('is a sandbox of its own, in the SVC_* variables and one line on stderr', async () => {
    const running = exec(
      node(`
        const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY, SVC_PUBLISHABLE_KEY, SVC_EXEC } = process.env
        fetch(SVC_BASE_URL + "/v1/placements", {
          method: "POST",
          headers: { authorization: "Bearer " + SVC_SECRET_KEY, "content-type": "application/json" },
          body: JSON.stringify({ client_id: SVC_CLIENT_ID, session_id: "s", job_type: "chat" }),
        }).then(({ status }) =>
          fs.writeFileSync("out", JSON.stringify([SVC_BASE_URL, SVC_PUBLISHABLE_KEY, status, SVC_EXEC])))`),
    )
    const { code, stderr } = await running.ended
    const [url, key, status, around] = JSON.parse(running.out()) as string[]
    expect({ code, key, status, around }).toEqual({ code: 0, key: 'pk_test_sandbox_demo', status: 200, around: url })
    expect(stderr.split('\n')[0]).toContain(`sandbox ${url} for `)
    expect(stderr.split('\n')[1]).toBe(`inspector ${url}/_sandbox/`)
    await expect(fetch(url as string)).rejects.toThrow()
  })

  test('is repeated on stderr without passwords and keys', async () => {
    const word = 'DATABASE_URL=postgres://svc:pa/ss@word@db:5432/svc'
    const words = [word, 'https://db.example/?user=svc&password=secret&ssl=1', 'sk_test_abcdef', 'npm@11']
    const { stderr } = await exec(`-- true ${words.join(' ')}`).ended
    expect(stderr.split('\n')[0]).toMatch(
      / DATABASE_URL=postgres:\/\/svc:\*\*\*@db:5432\/svc https:\/\/db\.example\/\?user=svc&password=\*\*\*&ssl=1 sk_test_redacted npm@11$/,
    )
  })

  test('is the sandbox of commands of svc inside, whatever svc.config.json says, and of pages; none stays listed', async () => {
    const directory = temporaryDirectory()
    const elsewhere = '{"base_url":"http://elsewhere.invalid","client_id":"proj_other"}'
    writeFileSync(join(directory, 'svc.config.json'), elsewhere)
    const inside = (words: string) => `"${process.execPath}" "${bin}" ${words}`
    const words = sh(
      `${inside('placements create --expect fill -q -o json')} > out && ${inside('api browser.activate -q -o none')} 2> err`,
    )
    const running = exec(`-q ${words}`, {}, directory)
    expect(await running.ended).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(JSON.parse(running.out())).toMatchObject({ status: 'ready' })
    expect(readFileSync(join(directory, 'err'), 'utf8')).toBe('')
    expect(readdirSync(join(directory, 'sandboxes'))).toEqual([])
  })

  test('is, inside another exec, the sandbox around it; with --isolated another', { tags: 'depth' }, async () => {
    await using around = await startSandbox()
    const inside = async (flags: string, SVC_BASE_URL = around.url) => {
      const running = exec(`${flags} ${sh('echo $SVC_BASE_URL > out')}`, {
        env: { SVC_EXEC: around.url, SVC_BASE_URL },
      })
      return { ...(await running.ended), url: running.out().trim() }
    }
    expect(await inside('--seed 1')).toEqual({
      code: 0,
      stdout: '',
      stderr: `joins the sandbox of the surrounding command, ${around.url}, for sh -c echo $SVC_BASE_URL > out\nWithout effect there: --seed. For a sandbox of its own: --isolated\n`,
      url: around.url,
    })
    expect(await inside('-q --isolated')).toMatchObject({ code: 0, url: expect.not.stringContaining(around.url) })
    expect(await inside('-q', 'http://127.0.0.1:9')).toMatchObject({ url: expect.not.stringContaining(around.url) })
  })

  test('is listed by others as exec, used when it is the only one, and not stopped', { tags: 'depth' }, async () => {
    const running = exec(node('fs.writeFileSync("out", process.env.SVC_BASE_URL); setInterval(() => {}, 1000)'))
    const env = { PATH, SVC_HOME: running.directory }
    const here = (args: string) => svc(args, { env, cwd: running.directory })
    await expect.poll(() => isWritten(running) && running.out()).toMatch(/^http/)
    const url = running.out()
    const listed = async () => JSON.parse((await here('sandbox ps -o json')).stdout) as object[]
    const command = expect.stringContaining('setInterval')
    // A busy computer takes the time after which a sandbox counts as silent.
    await expect.poll(listed).toMatchObject([{ url, used: true, ready: true, command }])
    expect((await here('sandbox ps')).stdout).toContain('exec: ')
    expect((await here('requests list')).code).toBe(0)
    const stderr = expect.stringContaining('ends with its command')
    expect(await here('sandbox stop')).toMatchObject({ code: 2, stderr })
    const own = `${running.directory}/sandboxes`
    const [name = ''] = readdirSync(own)
    const other = JSON.parse(readFileSync(join(own, name), 'utf8'))
    writeFileSync(join(own, name.replace(/^\d+/, '4711')), JSON.stringify({ ...other, pid: 4711 }))
    const bothRun = { isRunning: () => true }
    const two = await svc('requests list', { env, cwd: running.directory, system: bothRun })
    expect(two).toMatchObject({ code: 2, stderr: expect.stringContaining('2 sandboxes are running, and nothing says') })
    running.signal('SIGTERM')
    expect((await running.ended).code).toBe(143)
    expect(readdirSync(own)).toEqual([expect.stringMatching(/^4711/)])
  })

  test.each([
    [{}, 'localhost,127.0.0.1,::1', 'localhost,127.0.0.1,::1'],
    [{ NO_PROXY: '.corp, localhost' }, '.corp,localhost,127.0.0.1,::1', '.corp,localhost,127.0.0.1,::1'],
    [{ no_proxy: 'a', NO_PROXY: '*' }, '*', 'a,localhost,127.0.0.1,::1'],
  ])('is loopback outside any proxy, beside what the user left out: %j', async (env, upper, lower) => {
    const running = exec(`-q ${sh('echo "$NO_PROXY $no_proxy" > out')}`, { env })
    await running.ended
    expect(running.out()).toBe(`${upper} ${lower}\n`)
  })

  test('with --tls is a certificate that its programs accept beside those they had', { tags: 'depth' }, async () => {
    const directory = temporaryDirectory()
    const given = join(directory, 'given.pem')
    writeFileSync(given, 'GIVEN')
    const script = `
      const names = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"]
      const files = names.map((name) => fs.readFileSync(process.env[name], "utf8"))
      const count = (text) => text.split("BEGIN CERTIFICATE").length - 1
      fetch(process.env.SVC_BASE_URL + "/_sandbox/livez").then(({ status }) => fs.writeFileSync("out",
        JSON.stringify([status, files.map(count), files.map((text) => text.startsWith("GIVEN"))])))`
    const running = exec(`-q --tls ${node(script)}`, { env: { CURL_CA_BUNDLE: given } }, directory)
    await running.ended
    const [status, counts, kept] = JSON.parse(running.out()) as [number, number[], boolean[]]
    expect(status).toBe(200)
    expect(kept).toEqual([false, false, true, false])
    expect(counts).toEqual([1, expect.any(Number), 1, counts[1]])
    expect(counts[1]).toBeGreaterThan(50)
  })

  test('with --seed gives the same identifiers in every run', { tags: 'depth' }, async () => {
    const script = `
      const { SVC_BASE_URL, SVC_CLIENT_ID: client_id, SVC_SECRET_KEY } = process.env
      const headers = { authorization: "Bearer " + SVC_SECRET_KEY, "content-type": "application/json" }
      const body = JSON.stringify({ client_id, session_id: "s", job_type: "chat" })
      fetch(SVC_BASE_URL + "/v1/jobs", { method: "POST", headers, body }).then((response) => response.json())
        .then(({ job_id }) => fs.writeFileSync("out", job_id))`
    const ids = [exec(`-q --seed 3 ${node(script)}`), exec(`-q --seed 3 ${node(script)}`)]
    for (const { ended } of ids) expect((await ended).code).toBe(0)
    expect(ids[0]!.out()).toMatch(/^job_/)
    expect(ids[0]!.out()).toBe(ids[1]!.out())
  })

  test('is its own flags unchanged, also those that svc has', async () => {
    const running = exec(`-q ${sh('echo "$@" > out')} sh -- --json -h --seed`)
    expect(await running.ended).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(running.out()).toBe('-- --json -h --seed\n')
  })
})

describe('the exit code', () => {
  test.each([0, 1, 5, 42])("is the command's own: %i", async (code) => {
    expect((await exec(sh(`exit ${code}`)).ended).code).toBe(code)
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGKILL', 'SIGSEGV'] as const)('after %s is 128 + n', async (signal) => {
    expect((await exec(sh(`kill -${signal.slice(3)} $$`)).ended).code).toBe(128 + constants.signals[signal])
  })

  test('is 2 when there is no such command or it is not executable, and says what to do', {
    tags: 'depth',
  }, async () => {
    expect(await exec('-q -- no-such-program').ended).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: There is no program no-such-program.\nhint: Is it installed, and on the PATH?\n',
    })
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'suite.sh'), 'exit 0', { mode: 0o600 })
    expect(await exec('-q -- ./suite.sh', {}, directory).ended).toMatchObject({
      code: 2,
      stderr: 'error: ./suite.sh is not executable.\nhint: Try: chmod +x ./suite.sh\n',
    })
  })

  test.each(['', '--', 'npm test', 'npm -- test'])('is 2 where -- is missing: %j', async (words) => {
    const { code, stderr } = await exec(words).ended
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: Write the command to run after --\.\nhint: Try: svc exec -- npm/)
  })

  test('is 2 on Windows with what to type in PowerShell, which drops --', async () => {
    const { code, stderr } = await exec('npm test', { system: { platform: 'win32' } }).ended
    expect(code).toBe(2)
    expect(stderr).toContain("hint: Try: svc exec -- npm test. PowerShell drops --, so there: svc exec '--' npm test\n")
  })
})

describe('a signal', () => {
  test('reaches the command of a process once, though npm doubles Ctrl-C, and its code counts', async () => {
    const directory = temporaryDirectory()
    const counting = `
      let count = 0
      process.on('SIGINT', () => {
        count++
        if (count === 1) setTimeout(() => { console.log('signals: ' + count); process.exit(7) }, 300)
      })
      setInterval(() => {}, 1000)
      console.log('ready')`
    const words = ['exec', '-q', '--', process.execPath, '-e', counting]
    const { child, firstLine, ended } = spawnSvc(words, { PATH, SVC_HOME: directory }, directory)
    onTestFinished(() => void child.kill('SIGKILL'))
    await firstLine
    child.kill('SIGINT')
    child.kill('SIGINT')
    expect(await ended).toEqual({ code: 7, stdout: 'ready\nsignals: 1\n', stderr: '' })
  })

  test('ends a command that does not handle it with 128 + n', async () => {
    const running = exec(sh(`touch out; exec ${waiting}`))
    await expect.poll(() => isWritten(running)).toBe(true)
    running.signal('SIGTERM')
    expect((await running.ended).code).toBe(143)
  })

  test('kills a command that ignores it, and its children with it', { tags: 'depth' }, async () => {
    const running = exec(sh(`trap "" TERM; ${waiting} & echo $$ $! > out; while :; do wait; done`))
    await expect.poll(() => isWritten(running) && running.out()).toMatch(/\n/)
    const pids = running.out().trim().split(' ').map(Number)
    expect(pids.filter(realProcesses.isRunning)).toEqual(pids)
    running.signal('SIGTERM')
    expect((await running.ended).code).toBe(137)
    await expect.poll(() => pids.filter(realProcesses.isRunning)).toEqual([])
  })
})

test('processes that the command leaves behind are ended with it', async () => {
  const running = exec(sh(`${waiting} & echo $! > out; exit 3`))
  expect((await running.ended).code).toBe(3)
  expect(realProcesses.isRunning(Number(running.out()))).toBe(false)
})

/** `taskkill` is a program here as well; a console would send the command its Ctrl-C too. */
describe('on Windows', () => {
  type Case = [Signal, script: string, ended: { code: number; isKilled: boolean }]
  const cases: Case[] = [
    // SIGINT and SIGHUP leave the command its clean-up.
    ['SIGINT', 'while [ ! -e go ]; do sleep 0.05; done; exit 7', { code: 7, isKilled: false }],
    ['SIGHUP', 'while [ ! -e go ]; do sleep 0.05; done; exit 7', { code: 7, isKilled: false }],
    // Nothing there delivers it: it ends the command, with what that started.
    ['SIGTERM', `exec ${waiting}`, { code: 137, isKilled: true }],
  ]
  test.for(cases)('%s: %s', expectEnd)
  // It has its seconds first.
  const ignoring: Case = ['SIGINT', `exec ${waiting}`, { code: 137, isKilled: true }]
  test.for([ignoring])('%s: %s', { tags: 'depth' }, expectEnd)

  async function expectEnd([name, script, expected]: Case) {
    const directory = temporaryDirectory()
    const killed = join(directory, 'killed')
    writeFileSync(join(directory, 'taskkill'), `#!/bin/sh\necho "$@" >"${killed}"\nkill -9 "$2"\n`, { mode: 0o755 })
    writeFileSync(join(directory, 'program.sh'), `touch out\n${script}\n`)
    const system: Partial<System> = { platform: 'win32' }
    const running = exec('-q -- /bin/sh program.sh', { env: { PATH: `${directory}:${PATH}` }, system }, directory)
    await expect.poll(() => isWritten(running)).toBe(true)
    running.signal(name)
    writeFileSync(join(directory, 'go'), '')
    expect({ code: (await running.ended).code, isKilled: existsSync(killed) }).toEqual(expected)
  }
})

function isWritten({ directory }: Following & { directory: string }): boolean {
  return existsSync(join(directory, 'out'))
}
