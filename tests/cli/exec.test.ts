/** `svc exec` with real programs: what they see, what their end gives, and that nothing of them stays. */
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Signal, System } from '#cli/run/system.ts'
import { asPid1, asPid1WithOtherProc, hasPidNamespaces } from './pid-namespace.ts'
import { type Running, root, spawnSvc } from './process.ts'
import { type Result, svc, temporaryDirectory } from './test-cli.ts'

const started: Running[] = []
const bin = join(root, 'bin/svc.js')
const PATH = `${dirname(process.execPath)}:${process.env.PATH}`

afterAll(async () => {
  for (const { child } of started) child.kill('SIGKILL')
  await Promise.all(started.map(({ ended }) => ended))
})

/** Runs `svc exec WORDS`, in a directory that is the state directory too. */
function exec(words: readonly string[], directory = temporaryDirectory()): Running {
  const running = spawnSvc(['exec', ...words], { PATH, SVC_HOME: directory }, directory)
  started.push(running)
  return running
}

/** Runs it in this process, for what the command prints nothing to: its output is that of the tests. */
function execHere(words: readonly string[], directory = temporaryDirectory()): Promise<Result> {
  const quoted = words.map((word) => `'${word}'`).join(' ')
  return svc(`exec ${quoted}`, { env: { PATH, SVC_HOME: directory }, cwd: directory, system: { signal } })
}

const signal: System['signal'] = (pid, name) => {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

const node = (script: string) => ['--', process.execPath, '-e', script]

/**
 * `svc exec -- node FILE` by the rules of Windows, interrupted when the script has run: a console would send it the Ctrl-C
 * too. `taskkill` is a program here as well.
 */
async function interruptOnWindows(name: Signal, script: string) {
  const directory = temporaryDirectory()
  const ready = join(directory, 'ready')
  const killed = join(directory, 'killed')
  writeFileSync(join(directory, 'taskkill'), `#!/bin/sh\necho "$@" >"${killed}"\nkill -9 "$2"\n`, { mode: 0o755 })
  const onSignal: System['onSignal'] = (handler) => {
    const timer = setInterval(() => {
      if (!existsSync(ready)) return
      clearInterval(timer)
      handler(name)
    }, 20)
    return () => clearInterval(timer)
  }
  const file = join(directory, 'program.cjs')
  writeFileSync(file, `${script}\nrequire('node:fs').writeFileSync('${ready}', '')`)
  const system: Partial<System> = { platform: 'win32', signal, onSignal }
  const env = { PATH: `${directory}:${PATH}`, SVC_HOME: directory }
  const { code } = await svc(`exec -q -- ${process.execPath} ${file}`, { env, cwd: directory, system })
  return { code, isKilled: existsSync(killed) }
}

describe.concurrent('what the command sees', () => {
  test('is a sandbox of its own, in the SVC_* variables and one line on stderr', async () => {
    const script = `
      const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY, SVC_PUBLISHABLE_KEY } = process.env
      fetch(SVC_BASE_URL + '/v1/placements', {
        method: 'POST',
        headers: { authorization: 'Bearer ' + SVC_SECRET_KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ client_id: SVC_CLIENT_ID, session_id: 's', job_type: 'chat' }),
      }).then((answer) => console.log(JSON.stringify([SVC_BASE_URL, SVC_PUBLISHABLE_KEY, answer.status])))`
    const { code, stdout, stderr } = await exec(node(script)).ended
    const [url, key, status] = JSON.parse(stdout) as string[]
    expect({ code, key, status }).toEqual({ code: 0, key: 'pk_test_sandbox_demo', status: 200 })
    expect(stderr.split('\n')[0]).toContain(`sandbox ${url} for `)
    await expect(fetch(url as string)).rejects.toThrow()
  })

  test('is repeated on stderr without passwords and keys', async () => {
    const word = 'DATABASE_URL=postgres://svc:pa/ss@word@db:5432/svc'
    const words = [word, 'https://db.example/?user=svc&password=secret&ssl=1', 'sk_test_abcdef', 'npm@11']
    const { stderr } = await execHere([...node('process.exit(0)'), ...words])
    expect(stderr.split('\n')[0]).toMatch(
      / DATABASE_URL=postgres:\/\/svc:\*\*\*@db:5432\/svc https:\/\/db\.example\/\?user=svc&password=\*\*\*&ssl=1 sk_test_redacted npm@11$/,
    )
  })

  test('-q leaves stderr to the command', async () => {
    const ended = await exec(['-q', ...node('console.error("mine")')]).ended
    expect(ended).toEqual({ code: 0, stdout: '', stderr: 'mine\n' })
  })

  test('commands of svc inside use this sandbox, whatever svc.config.json says; none stays listed', async () => {
    const directory = temporaryDirectory()
    writeFileSync(
      join(directory, 'svc.config.json'),
      '{"base_url":"http://elsewhere.invalid","client_id":"proj_other"}',
    )
    const create = ['-q', '--', process.execPath, bin, 'placements', 'create', '--expect', 'fill', '-q', '-o', 'json']
    const { code, stdout, stderr } = await exec(create, directory).ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ status: 'ready' })
    expect(readdirSync(join(directory, 'sandboxes'))).toEqual([])
  })

  test('an exec inside joins the sandbox around it; --isolated starts another', async () => {
    const url = 'console.log(process.env.SVC_BASE_URL)'
    const inside = (flags: string) =>
      `"${process.execPath}" "${bin}" exec ${flags} -- "${process.execPath}" -e "${url}"`
    const script = `echo "$SVC_BASE_URL"; ${inside('--seed 1')}; ${inside('-q --isolated')}; SVC_BASE_URL=http://127.0.0.1:9 ${inside('-q')}`
    const { code, stdout, stderr } = await exec(['-q', '--', 'sh', '-c', script]).ended
    const [around, joined, isolated, elsewhere, ...more] = stdout.trim().split('\n')
    expect({ code, more }).toEqual({ code: 0, more: [] })
    expect(joined).toBe(around)
    expect(new Set([around, isolated, elsewhere, 'http://127.0.0.1:9']).size).toBe(4)
    expect(stderr).toMatch(
      /^joins the sandbox of the surrounding command, http:\S+, for .*\nWithout effect there: --seed\. For a sandbox of its own: --isolated\n$/,
    )
  })

  test('an exec inside joins a sandbox that is slow to respond', async () => {
    // Longer than a probe for sandboxes that may not be there.
    const server = createServer(({ url = '' }, response) => {
      const [path] = new URL(url, 'http://sandbox').searchParams.keys()
      setTimeout(() => response.end(JSON.stringify({ fields: [{ path }] })), 2_500)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = { PATH, SVC_EXEC: url, SVC_BASE_URL: url }
    const { code, stderr } = await svc(`exec -- '${process.execPath}' -e 0`, { env, system: { signal } })
    server.close()
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining(`joins the sandbox of the surrounding command, ${url}, for `),
    })
  })

  test('while it runs, others list it as exec, use it when it is the only one, and do not stop it', async () => {
    const directory = temporaryDirectory()
    const waiting = 'console.log(process.env.SVC_BASE_URL); setInterval(() => {}, 1000)'
    const here = (args: string) =>
      svc(args, { env: { PATH, SVC_HOME: directory }, cwd: directory, system: { isRunning } })
    const first = exec(node(waiting), directory)
    const url = await first.firstLine
    const listed = JSON.parse((await here('sandbox ps -o json')).stdout) as object[]
    expect(listed).toMatchObject([{ url, used: true, ready: true, command: expect.stringContaining('setInterval') }])
    expect((await here('sandbox ps')).stdout).toContain('exec: ')
    expect((await here('requests list')).code).toBe(0)
    expect(await here('sandbox stop')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ends with its command'),
    })
    const second = exec(node(waiting), directory)
    await second.firstLine
    expect(await here('requests list')).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('2 sandboxes of svc exec are running'),
    })
    first.child.kill('SIGTERM')
    second.child.kill('SIGTERM')
    expect((await first.ended).stderr).toContain(`inspector ${url}/_sandbox/\n`)
    await second.ended
    expect(readdirSync(join(directory, 'sandboxes'))).toEqual([])
  })

  test('a page is activated inside as well', async () => {
    const { code, stderr } = await exec(['-q', '--', process.execPath, bin, 'browser', 'activate', '-q', '-o', 'none'])
      .ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('is loopback outside any proxy, beside what the user left out', async () => {
    const directory = temporaryDirectory()
    const print = node('console.log(JSON.stringify([process.env.NO_PROXY, process.env.no_proxy]))')
    const run = async (given: Record<string, string>) => {
      const running = spawnSvc(['exec', '-q', ...print], { PATH, SVC_HOME: directory, ...given }, directory)
      started.push(running)
      return JSON.parse((await running.ended).stdout) as string[]
    }
    const own = 'localhost,127.0.0.1,::1'
    expect(await run({})).toEqual([own, own])
    expect(await run({ NO_PROXY: '.corp, localhost' })).toEqual(Array(2).fill('.corp,localhost,127.0.0.1,::1'))
    expect(await run({ no_proxy: 'a', NO_PROXY: '*' })).toEqual(['*', `a,${own}`])
  })

  test('with --tls is a certificate that Node, Python and Ruby accept beside those they had', async () => {
    const directory = temporaryDirectory()
    const given = join(directory, 'given.pem')
    writeFileSync(given, 'GIVEN')
    const script = `
      const { readFileSync } = require('node:fs')
      const names = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE']
      const files = names.map((name) => readFileSync(process.env[name], 'utf8'))
      const count = (text) => text.split('BEGIN CERTIFICATE').length - 1
      fetch(process.env.SVC_BASE_URL + '/_sandbox/livez').then(({ status }) =>
        console.log(JSON.stringify([status, files.map(count), files.map((text) => text.startsWith('GIVEN'))])))`
    const env = { PATH, SVC_HOME: directory, CURL_CA_BUNDLE: given }
    const running = spawnSvc(['exec', '-q', '--tls', ...node(script)], env, directory)
    started.push(running)
    const [status, counts, kept] = JSON.parse((await running.ended).stdout) as [number, number[], boolean[]]
    expect(status).toBe(200)
    expect(kept).toEqual([false, false, true, false])
    expect(counts).toEqual([1, expect.any(Number), 1, counts[1]])
    expect(counts[1]).toBeGreaterThan(50)
    const python =
      "import os, urllib.request as u; print(u.urlopen(os.environ['SVC_BASE_URL'] + '/_sandbox/livez').status)"
    const other = exec([
      '-q',
      '--tls',
      '--',
      'sh',
      '-c',
      `command -v python3 > /dev/null || { echo 200; exit; }; exec python3 -c "${python}"`,
    ])
    expect((await other.ended).stdout).toBe('200\n')
  })

  test('with --tls ends, and says what is not accepted, without its files and without a temporary folder', async () => {
    const directory = temporaryDirectory()
    const given = join(directory, 'file')
    writeFileSync(given, '')
    const words = ['exec', '--tls', ...node('console.log(process.env.NODE_EXTRA_CA_CERTS)')]
    const env = { PATH, SVC_HOME: directory, NODE_EXTRA_CA_CERTS: directory, TMPDIR: given }
    const running = spawnSvc(words, env, directory)
    started.push(running)
    const { code, stdout, stderr } = await running.ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/localhost\.crt\n$/) })
    expect(stderr).toContain(`warning: NODE_EXTRA_CA_CERTS is ignored: ${directory} cannot be read: it is a folder.`)
    expect(stderr).toContain(
      'without those of NODE_EXTRA_CA_CERTS: no folder for the others: part of its path is not a folder.',
    )
  })

  test('--seed gives the same identifiers in every run', async () => {
    const words = ['-q', '--seed', '3', '--', process.execPath, bin, 'jobs', 'create', '-o', 'json']
    const ids = await Promise.all(
      [exec(words), exec(words)].map(
        async ({ ended }) => (JSON.parse((await ended).stdout) as { job_id: string }).job_id,
      ),
    )
    expect(ids[0]).toBe(ids[1])
  })

  test('its own flags reach it unchanged, also those that svc has', async () => {
    const words = [
      '-q',
      '--',
      process.execPath,
      '-e',
      'console.log(process.argv.slice(1))',
      '--',
      '--json',
      '-h',
      '--seed',
    ]
    expect(await exec(words).ended).toEqual({ code: 0, stdout: "[ '--json', '-h', '--seed' ]\n", stderr: '' })
  })
})

describe('the exit code', () => {
  test.each([0, 1, 5, 42])("is the command's own: %i", async (code) => {
    expect((await execHere(node(`process.exit(${code})`))).code).toBe(code)
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGKILL', 'SIGSEGV'] as const)('after %s is 128 + n', async (signal) => {
    const { code } = await execHere(['--', 'sh', '-c', `kill -${signal.slice(3)} $$`])
    expect(code).toBe(128 + constants.signals[signal])
  })

  test('is 2 when there is no such command, and says what to do', async () => {
    expect(await execHere(['-q', '--', 'no-such-program'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: There is no program no-such-program.\nhint: Is it installed, and on the PATH?\n',
    })
  })

  test('is 2 when it is not executable', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'suite.sh'), 'exit 0', { mode: 0o600 })
    const { code, stderr } = await execHere(['-q', '--', './suite.sh'], directory)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'error: ./suite.sh is not executable.\nhint: Try: chmod +x ./suite.sh\n',
    })
  })

  test.each([[[]], [['--']], [['npm', 'test']], [['npm', '--', 'test']]])(
    'is 2 where -- is missing: %j',
    async (words) => {
      const { code, stderr } = await execHere(words)
      expect(code).toBe(2)
      expect(stderr).toMatch(/^error: Write the command to run after --\.\nhint: Try: svc exec -- npm/)
    },
  )

  test('is 2 on Windows with what to type in PowerShell, which drops --', async () => {
    const { code, stderr } = await svc('exec npm test', { system: { platform: 'win32' } })
    expect(code).toBe(2)
    expect(stderr).toContain("hint: Try: svc exec -- npm test. PowerShell drops --, so there: svc exec '--' npm test\n")
  })
})

describe.concurrent('signals', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s reaches the command once, whose code counts',
    async (signal) => {
      const { child, firstLine, ended } = exec(node(counting(signal)))
      await firstLine
      child.kill(signal)
      expect(await ended).toMatchObject({ code: 7, stdout: 'ready\nsignals: 1\n' })
    },
  )

  test('npm’s doubled Ctrl-C counts once', async () => {
    const { child, firstLine, ended } = exec(node(counting('SIGINT')))
    await firstLine
    child.kill('SIGINT')
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 7, stdout: 'ready\nsignals: 1\n' })
  })

  test('a command that does not handle it ends with 128 + n', async () => {
    const { child, firstLine, ended } = exec(node('console.log("ready"); setInterval(() => {}, 1000)'))
    await firstLine
    child.kill('SIGTERM')
    expect((await ended).code).toBe(143)
  })

  test('a command that ignores it is killed, and its children with it', async ({ expect }) => {
    const { child, firstLine, ended } = exec(node(family('SIGTERM')))
    const pids = JSON.parse(await firstLine) as number[]
    expect(pids.filter(isRunning)).toEqual(pids)
    child.kill('SIGTERM')
    expect((await ended).code).toBe(137)
    await expect.poll(() => pids.filter(isRunning)).toEqual([])
  })
})

describe.concurrent('on Windows', () => {
  test.each(['SIGINT', 'SIGHUP'] as const)('%s leaves the command its clean-up', async (name) => {
    const cleaning = 'setTimeout(() => process.exit(7), 600)'
    expect(await interruptOnWindows(name, cleaning)).toEqual({ code: 7, isKilled: false })
  })

  test('a command that ignores a Ctrl-C is ended with what it started', async () => {
    expect(await interruptOnWindows('SIGINT', 'setInterval(() => {}, 1000)')).toEqual({ code: 137, isKilled: true })
  })

  test('SIGTERM, which nothing there delivers, ends it at once', async () => {
    expect(await interruptOnWindows('SIGTERM', 'setInterval(() => {}, 1000)')).toEqual({ code: 137, isKilled: true })
  })
})

describe.concurrent('no orphan', () => {
  test('processes that the command leaves behind are ended with it', async () => {
    const script = `
      const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
      console.log(child.pid)
      process.exit(3)`
    const { firstLine, ended } = exec(node(script))
    const pid = Number(await firstLine)
    expect((await ended).code).toBe(3)
    expect(isRunning(pid)).toBe(false)
  })

  test('a second Ctrl-C ends everything at once', async ({ expect }) => {
    const { child, firstLine, ended } = exec(node(family('SIGINT')))
    const pids = JSON.parse(await firstLine) as number[]
    child.kill('SIGINT')
    const again = setInterval(() => child.kill('SIGINT'), 150)
    expect((await ended).code).toBe(130)
    clearInterval(again)
    await expect.poll(() => pids.filter(isRunning)).toEqual([])
  })
})

/** Waiting forever for what nobody reaps would use up a CI job. */
const endsWithin_ms = 30_000
const namespaceTest = hasPidNamespaces ? test : null

describe.concurrent('where PID 1 reaps nothing', () => {
  const leaving = ['--', 'sh', '-c', 'sleep 1000 & exit 3']
  const inNamespace = (words: readonly string[], prefix: readonly string[]) => {
    const directory = temporaryDirectory()
    const running = spawnSvc(words, { PATH, SVC_HOME: directory }, directory, prefix)
    started.push(running)
    return running.ended
  }

  namespaceTest?.('a killed process that stays a zombie has ended', { timeout: endsWithin_ms }, async () => {
    const ended = await inNamespace(['exec', '-q', ...leaving], asPid1)
    expect(ended).toEqual({ code: 3, stdout: '', stderr: '' })
  })

  namespaceTest?.('qa observe ends too', { timeout: endsWithin_ms }, async () => {
    expect((await inNamespace(['qa', 'observe', ...leaving], asPid1)).code).toBe(3)
  })

  namespaceTest?.('it ends where /proc shows other processes', { timeout: endsWithin_ms }, async () => {
    expect((await inNamespace(['exec', '-q', ...leaving], asPid1WithOtherProc)).code).toBe(3)
  })
})

describe.concurrent('test runners', () => {
  test('npm', async () => {
    const directory = temporaryDirectory()
    const check = "require('node:assert').match(process.env.SVC_BASE_URL, /^http:..127.0.0.1:[0-9]+$/); process.exit(9)"
    writeFileSync(join(directory, 'check.cjs'), check)
    writeFileSync(join(directory, 'package.json'), '{"scripts":{"test":"node check.cjs"}}')
    expect((await exec(['--', 'npm', 'test', '--silent'], directory).ended).code).toBe(9)
  })

  test('make', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'Makefile'), 'pass:\n\t@echo $$SVC_CLIENT_ID\nfail:\n\t@exit 3\n')
    expect(await exec(['-q', '--', 'make', '-s', 'pass'], directory).ended).toEqual({
      code: 0,
      stdout: 'proj_demo\n',
      stderr: '',
    })
    expect((await exec(['--', 'make', '-s', 'fail'], directory).ended).code).toBe(2)
  })

  test('vitest', async () => {
    const directory = temporaryDirectory()
    const suite = (expected: number) => `
      import { expect, test } from 'vitest'
      test('it answers', async () => expect((await fetch(process.env.SVC_BASE_URL + '/_sandbox/readyz')).status).toBe(${expected}))`
    writeFileSync(join(directory, 'good.test.mjs'), suite(200))
    writeFileSync(join(directory, 'bad.test.mjs'), suite(500))
    mkdirSync(join(directory, 'node_modules'))
    symlinkSync(join(root, 'node_modules/vitest'), join(directory, 'node_modules/vitest'))
    const vitest = join(directory, 'node_modules/vitest/vitest.mjs')
    const run = (name: string) =>
      exec(['--', process.execPath, vitest, 'run', '--root', directory, name], directory).ended
    const [good, bad] = await Promise.all([run('good'), run('bad')])
    expect(good.code, good.stdout + good.stderr).toBe(0)
    expect(bad.code, bad.stdout + bad.stderr).toBe(1)
    expect(bad.stdout + bad.stderr).toContain('expected 200 to be 500')
  })

  test('unittest', async () => {
    const directory = temporaryDirectory()
    const suite = `
import json, os, unittest, urllib.request
class Sandbox(unittest.TestCase):
    def test_ready(self):
        with urllib.request.urlopen(os.environ['SVC_BASE_URL'] + '/_sandbox/readyz') as answer:
            self.assertEqual(json.load(answer), {'ok': True})
    def test_wrong(self):
        self.assertEqual(os.environ['SVC_CLIENT_ID'], 'nobody')
`
    writeFileSync(join(directory, 'test_sandbox.py'), suite)
    const run = (name: string) =>
      exec(['--', 'python3', '-m', 'unittest', `test_sandbox.Sandbox.${name}`], directory).ended
    const ready = await run('test_ready')
    // Without Python it has to say so.
    if (ready.stderr.includes('There is no program python3.')) expect(ready.code).toBe(2)
    else expect([ready.code, (await run('test_wrong')).code]).toEqual([0, 1])
  })
})

/** A program that counts a signal for a while after the first, so that a second would be seen. */
function counting(signal: string): string {
  return `
    let count = 0
    process.on('${signal}', () => {
      count++
      if (count === 1) setTimeout(() => { console.log('signals: ' + count); process.exit(7) }, 300)
    })
    setInterval(() => {}, 1000)
    console.log('ready')`
}

/** A program with a child, neither of which heeds a signal; it prints both process ids. */
function family(signal: string): string {
  const deaf = `process.on('${signal}', () => {}); setInterval(() => {}, 1000); console.log(process.pid)`
  return `
    process.on('${signal}', () => {})
    const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(deaf)}])
    child.stdout.once('data', (pid) => console.log(JSON.stringify([process.pid, Number(pid)])))`
}

/** A zombie that nobody has waited for yet does not run. */
function isRunning(pid: number): boolean {
  if (existsSync('/proc/self/stat')) {
    return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  }
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
