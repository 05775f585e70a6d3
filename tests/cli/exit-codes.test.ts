/** Each exit code of the table, provoked in a real process. The compiler requires a case for a new one. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Category, exitCodes } from '#cli/run/errors.ts'
import { walkOddAnswers } from './odd-answers.ts'
import { type Running, spawnSvc } from './process.ts'
import { temporaryDirectory } from './test-cli.ts'

interface Case {
  args: readonly string[]
  /** The code of its error; null when it succeeds. */
  code: string | null
  env?: Record<string, string>
  /** Sent when the command is waiting, which it prints on stderr. */
  interrupt?: { at: RegExp; signal: NodeJS.Signals }
}

const home = temporaryDirectory()
const pending = ['placements', 'create', '--wait', '30000']
let sandbox: Running
let url: string

beforeAll(async () => {
  sandbox = spawnSvc(['start', '--port', '0', '--ephemeral', '--decision-latency', '0', '-o', 'json'], {
    SVC_HOME: home,
  })
  url = (JSON.parse(await sandbox.firstLine) as { url: string }).url
})
afterAll(async () => {
  sandbox.child.kill('SIGTERM')
  await sandbox.ended
})

const cases: Record<Category, () => Promise<Case> | Case> = {
  ok: () => ({ args: ['health', 'ready'], code: null }),
  unexpected: () => ({
    args: ['placements', 'create', '--base-url', url, '-o', 'json'],
    env: { NODE_OPTIONS: `--import=data:text/javascript,crypto.getRandomValues=()=>{throw(Error('broken'))}` },
    code: 'unexpected',
  }),
  usage: () => ({ args: ['placements', 'create', '--nonsense'], code: 'unknown_option' }),
  service: () => ({ args: ['decisions', 'get', 'slot_00000000001'], code: 'not_found' }),
  credentials: () => ({ args: ['placements', 'create', '--secret-key', 'sk_test_wrong'], code: 'unauthorized' }),
  expectation: () => ({
    args: ['placements', 'create', '--format', 'banner', '--expect', 'format=clip'],
    code: 'expectation_unmet',
  }),
  no_fill: () => ({ args: ['placements', 'create', '--no-fill', '--expect', 'fill'], code: 'no_fill' }),
  async discrepancy() {
    const file = join(home, 'counts.csv')
    await writeFile(file, 'slot_id,views\nslot_00000000001,1\n')
    return { args: ['billing', 'reconcile', file], code: null }
  },
  unreachable: () => ({ args: ['health', 'live', '--base-url', 'http://127.0.0.1:1'], code: 'unreachable' }),
  busy: () => ({ args: ['start', '--port', new URL(url).port, '--ephemeral'], code: 'port_in_use' }),
  async interrupted() {
    const slow = spawnSvc(['start', '--port', '0', '--ephemeral', '--decision-latency', '600000', '-o', 'json'], {
      SVC_HOME: join(home, 'slow'),
    })
    slowSandbox = slow
    await slow.firstLine
    return {
      args: pending,
      code: 'interrupted',
      env: { SVC_HOME: join(home, 'slow') },
      interrupt: { at: /waiting/, signal: 'SIGINT' },
    }
  },
}
let slowSandbox: Running | undefined
afterAll(async () => {
  slowSandbox?.child.kill('SIGTERM')
  await slowSandbox?.ended
})

describe('exit codes', () => {
  test.each(Object.entries(cases))('%s', async (category, given) => {
    const { args, code, env = {}, interrupt } = await given()
    const running = spawnSvc(args.includes('-o') ? args : [...args, '-o', 'json'], { SVC_HOME: home, ...env })
    if (interrupt !== undefined) await interruptWhen(running, interrupt)
    const result = await running.ended
    const { exit_code } = exitCodes[category as Category]
    expect(result.code, result.stderr).toBe(exit_code)
    if (code === null) return
    const lines = result.stderr.trimEnd().split('\n')
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ error: { category, code } })
  })

  test('svc help exit-codes prints the whole table', async () => {
    const { stdout } = await spawnSvc(['help', 'exit-codes'], { SVC_HOME: home }).ended
    for (const { exit_code, meaning } of Object.values(exitCodes)) {
      expect(stdout).toMatch(new RegExp(`^\\s*${exit_code}\\s`, 'm'))
      expect(stdout.replace(/\s+/g, ' ')).toContain(meaning)
    }
  })

  test('a database that another sandbox has open is busy too; a corrupt one is a usage error', async () => {
    const file = join(home, 'one.db')
    const first = spawnSvc(['start', '--port', '0', '--db', file, '-o', 'json'], { SVC_HOME: join(home, 'first') })
    await first.firstLine
    const second = await spawnSvc(['start', '--port', '0', '--db', file], { SVC_HOME: home }).ended
    first.child.kill('SIGTERM')
    await first.ended
    expect(second.code, second.stderr).toBe(exitCodes.busy.exit_code)

    await mkdir(join(home, 'bad'), { recursive: true })
    const corrupt = join(home, 'bad/corrupt.db')
    await writeFile(corrupt, 'no database at all, only text')
    const third = await spawnSvc(['start', '--port', '0', '--db', corrupt], { SVC_HOME: home }).ended
    expect(third.code, third.stderr).toBe(exitCodes.usage.exit_code)
  })
})

/** Sends a signal when the command has printed that it is waiting. */
function interruptWhen({ child }: Running, { at, signal }: NonNullable<Case['interrupt']>): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    const read = (chunk: Buffer) => {
      text += chunk.toString()
      if (!at.test(text)) return
      child.stderr!.off('data', read)
      child.kill(signal)
      resolve()
    }
    child.stderr!.on('data', read)
    child.once('close', () => reject(new Error(`ended before it was waiting: ${text}`)))
  })
}

test('an answer off the contract is never a bug of svc: a sample', async () => {
  const { cases, problems } = await walkOddAnswers({ step: 307 })
  expect(problems).toEqual([])
  expect(cases).toBeGreaterThan(20)
})
