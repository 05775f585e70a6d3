/**
 * What scripts rely on, for every command there is: `-o json` puts JSON on stdout and nothing else, and a command whose
 * streams are closed neither waits for anyone nor falls over.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Command, loadAll } from '../../src/cli/run/command.ts'
import { exitCodes } from '../../src/cli/run/errors.ts'
import { commands } from '../../src/commands/index.ts'
import { root, spawnSvc } from './process.ts'
import { exampleFolder, startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

/** Commands that go on until they are stopped, and the first line of what they print. */
const endless = new Set(['start', 'stream', 'tail', 'logs', 'observe'])
/** Every suite takes a while: tests/cli/qa.test.ts runs them. */
const wholeRun = 'qa run --fresh'
/** Commands whose output is another program's own. */
const otherLanguage = new Set(['exec'])

let cli: TestCli
const found: { command: Command; path: string }[] = []

beforeAll(async () => {
  cli = await startTestCli()
  found.push(...(await loadAll(commands)))
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
})

describe('-o json', () => {
  test('puts JSON on stdout and nothing else, whatever the command', async () => {
    let checked = 0
    for (const { command, path } of found) {
      if (endless.has(command.name) || otherLanguage.has(command.name) || path === 'sandbox stop') continue
      const cwd = exampleFolder(cli, path)
      for (const example of command.examples) {
        if (example === wholeRun) continue
        await cli.svc('placements create --format banner -q')
        const { stdout, stderr, code } = await cli.svc(asJson(example), { cwd })
        expect(code, `svc ${example}: ${stderr}`).toBe(0)
        // An export is a file of JSON lines, whatever the format of answers.
        const documents = path === 'evidence export' ? stdout.trimEnd().split('\n') : [stdout]
        for (const document of documents.filter((text) => text !== '')) {
          expect(() => JSON.parse(document), `svc ${example} printed ${document}`).not.toThrow()
        }
      }
      checked++
    }
    expect(checked).toBeGreaterThan(60)
  })

  test('an error leaves stdout empty', async () => {
    const { stdout, stderr } = await cli.svc('decisions get slot_00000000001 -o json')
    expect(stdout).toBe('')
    expect(JSON.parse(stderr)).toMatchObject({ error: { category: 'service' } })
  })
})

describe('closed streams', () => {
  test('no command hangs or crashes with stdin and stdout closed', { timeout: 120_000 }, async () => {
    const home = temporaryDirectory()
    const sandbox = spawnSvc(['start', '--port', '0', '--ephemeral', '-o', 'json'], { SVC_HOME: home })
    await sandbox.firstLine
    const known = new Set<number>(Object.values(exitCodes).map(({ exit_code }) => exit_code))
    try {
      const waiting = found.filter(
        ({ command, path }) => !endless.has(command.name) && command.name !== 'exec' && path !== 'sandbox stop',
      )
      const next = async (): Promise<void> => {
        const item = waiting.shift()
        if (item === undefined) return
        const { code, stderr } = await closed(item.path, home)
        expect(known.has(code), `svc ${item.path} ended with ${code}: ${stderr}`).toBe(true)
        expect(code, `svc ${item.path}: ${stderr}`).not.toBe(exitCodes.unexpected.exit_code)
        expect(stderr).not.toMatch(/\n {4}at |bug of svc|EBADF/)
        return next()
      }
      await Promise.all([next(), next()])
    } finally {
      sandbox.child.kill('SIGTERM')
      await sandbox.ended
    }
  })

  test('a reader that closes the pipe ends a list silently', async () => {
    const { url } = cli.sandbox
    const { code, stderr } = await shell(`"$@" requests list --limit 1000 | head -c 1`, {
      SVC_HOME: temporaryDirectory(),
      SVC_BASE_URL: url,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })
})

function asJson(example: string): string {
  return /(^| )-o /.test(example) ? example.replace(/(^| )-o \S+/, '$1-o json') : `${example} -o json`
}

/** A command without arguments, its standard input and output closed. */
function closed(path: string, home: string): Promise<{ code: number; stderr: string }> {
  return shell(`"$@" ${path} <&- >&-`, { SVC_HOME: home })
}

async function shell(script: string, env: Record<string, string>): Promise<{ code: number; stderr: string }> {
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, `${root}/bin/svc.js`], {
    env: { PATH: process.env.PATH, ...env },
    cwd: env.SVC_HOME,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, stderr }
}
