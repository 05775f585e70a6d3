/** `svc exec` as a process, in depth: every signal, parents and children, PID namespaces, and the runners of tests. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type Running, root, spawnSvc } from '#tests/cli/process.ts'
import { realProcesses, svc } from '#tests/cli/test-cli.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { asPid1, asPid1WithOtherProc, hasPidNamespaces } from './pid-namespace.ts'

const started: Running[] = []
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

const node = (script: string) => ['--', process.execPath, '-e', script]

const pythonTest = spawnSync('python3', ['--version']).status === 0 ? test : null
if (pythonTest === null) console.warn('Left out: exec with Python, which is not installed.')

describe('what the command sees', () => {
  test('an exec inside joins a sandbox that is slow to respond', async () => {
    // Longer than a probe for sandboxes that may not be there.
    const server = createServer(({ url = '' }, response) => {
      const [path] = new URL(url, 'http://sandbox').searchParams.keys()
      setTimeout(() => response.end(JSON.stringify({ fields: [{ path }] })), 2_500)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = { PATH, SVC_EXEC: url, SVC_BASE_URL: url }
    const { code, stderr } = await svc(`exec -- '${process.execPath}' -e 0`, { env, system: realProcesses })
    server.close()
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining(`joins the sandbox of the surrounding command, ${url}, for `),
    })
  })

  pythonTest?.('with --tls is accepted by Python', async () => {
    const script =
      "import os, urllib.request as u; print(u.urlopen(os.environ['SVC_BASE_URL'] + '/_sandbox/livez').status)"
    expect((await exec(['-q', '--tls', '--', 'python3', '-c', script]).ended).stdout).toBe('200\n')
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
})

describe.concurrent('signals', () => {
  test.each(['SIGTERM', 'SIGHUP'] as const)('%s reaches the command once, whose code counts', async (signal) => {
    const { child, firstLine, ended } = exec(node(counting(signal)))
    await firstLine
    child.kill(signal)
    expect(await ended).toMatchObject({ code: 7, stdout: 'ready\nsignals: 1\n' })
  })

  test('a second Ctrl-C ends everything at once', async ({ expect }) => {
    const { child, firstLine, ended } = exec(node(family('SIGINT')))
    const pids = JSON.parse(await firstLine) as number[]
    child.kill('SIGINT')
    const again = setInterval(() => child.kill('SIGINT'), 150)
    expect((await ended).code).toBe(130)
    clearInterval(again)
    await expect.poll(() => pids.filter(realProcesses.isRunning)).toEqual([])
  })
})

const namespaceTest = hasPidNamespaces ? test : null

describe.concurrent('where PID 1 reaps nothing', () => {
  const leaving = ['--', 'sh', '-c', 'sleep 1000 & exit 3']
  const inNamespace = (words: readonly string[], prefix: readonly string[]) => {
    const directory = temporaryDirectory()
    const running = spawnSvc(words, { PATH, SVC_HOME: directory }, directory, prefix)
    started.push(running)
    return running.ended
  }

  namespaceTest?.('a killed process that stays a zombie has ended', async () => {
    const ended = await inNamespace(['exec', '-q', ...leaving], asPid1)
    expect(ended).toEqual({ code: 3, stdout: '', stderr: '' })
  })

  namespaceTest?.('observe ends too', async () => {
    expect((await inNamespace(['observe', ...leaving], asPid1)).code).toBe(3)
  })

  namespaceTest?.('it ends where /proc shows other processes', async () => {
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
