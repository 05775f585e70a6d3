/** Each exit code of the table, provoked. The compiler requires a case for a new one. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { type Category, exitCodes } from '#text/cli-error.ts'
import { runInProcess } from './in-process.ts'
import { walkOddAnswers } from './odd-answers.ts'
import { type RunOptions, startTestCli, svc, type TestCli } from './test-cli.ts'

interface Case {
  args: string
  /** The code of its error; null when it succeeds. */
  code: string | null
  env?: Record<string, string>
  system?: RunOptions['system']
}

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
  writeFileSync(join(cli.home, 'counts.csv'), 'slot_id,views\nslot_00000000001,1\n')
})
afterAll(() => cli[Symbol.asyncDispose]())

const randomText = () => {
  throw new Error('broken')
}

const cases: Record<Exclude<Category, 'interrupted'>, readonly Case[]> = {
  ok: [
    { args: 'sandbox clock show', code: null },
    { args: 'placements create --expect fill --format banner --expect format=banner', code: null },
  ],
  unexpected: [{ args: 'placements create', code: 'unexpected', system: { randomText } }],
  usage: [{ args: 'placements create --nonsense', code: 'unknown_option' }],
  service: [
    { args: 'api decisions.get slot_00000000001', code: 'not_found' },
    { args: 'placements create --set slot_hint.max_width=0', code: 'validation_error' },
  ],
  credentials: [
    { args: 'placements create --secret-key sk_test_wrong', code: 'unauthorized' },
    { args: 'placements create --secret-key pk_test_sandbox_demo', code: 'forbidden' },
    { args: 'placements create', code: 'secret_key_missing', env: { SVC_BASE_URL: 'http://127.0.0.1:1' } },
  ],
  expectation: [
    { args: 'placements create --format banner --expect format=clip', code: 'expectation_unmet' },
    { args: 'placements create --no-fill --expect reason=no_demand', code: 'expectation_unmet' },
    { args: 'placements create --no-fill --expect pending', code: 'expectation_unmet' },
  ],
  no_fill: [{ args: 'placements create --no-fill --expect fill', code: 'no_fill' }],
  discrepancy: [{ args: 'beacons reconcile counts.csv', code: null }],
  unreachable: [{ args: 'sandbox clock show --base-url http://127.0.0.1:1', code: 'unreachable' }],
  busy: [{ args: 'start --port PORT --ephemeral', code: 'port_in_use' }],
}
const rows = Object.entries(cases).flatMap(([category, own]) => own.map((each) => ({ category, ...each })))

describe('exit codes', () => {
  test.each(rows)('$category: svc $args', async ({ category, args, code, env = {}, system = {} }) => {
    const line = args.replace('PORT', String(cli.sandbox.port))
    const result = await cli.svc(`${line} -o json`, { env, system })
    expect(result.code, result.stderr).toBe(exitCodes[category as Category].exit_code)
    if (code !== null) expect(JSON.parse(result.stderr)).toMatchObject({ error: { category, code } })
  })

  test('interrupted', async () => {
    await using slow = await startSandbox({ decision_latency_ms: 600_000 })
    const { secret_key, client_id } = slow.keys
    const keys = `--base-url ${slow.url} --client-id ${client_id} --secret-key ${secret_key}`
    const options = { env: { SVC_HOME: cli.home } }
    const isWaiting = ({ stderr }: { stderr: string }) => stderr.includes('waiting')
    const waiting = await runInProcess(`placements create --wait 30000 -o json ${keys}`, options, isWaiting)
    const { code, stderr } = await waiting.end('SIGINT')
    expect(code, stderr).toBe(exitCodes.interrupted.exit_code)
    const [line = ''] = stderr.trimEnd().split('\n').slice(-1)
    expect(JSON.parse(line)).toMatchObject({ error: { category: 'interrupted', code: 'interrupted' } })
  })

  test('svc help exit-codes prints the whole table', async () => {
    const { stdout } = await cli.svc('help exit-codes')
    for (const { exit_code, meaning } of Object.values(exitCodes)) {
      expect(stdout).toMatch(new RegExp(`^\\s*${exit_code}\\s`, 'm'))
      expect(stdout.replace(/\s+/g, ' ')).toContain(meaning)
    }
  })

  test('a database that another sandbox has open is busy too; a corrupt one is a usage error', async () => {
    const start = (file: string) => `start --port 0 --db ${join(cli.home, file)}`
    const options = { env: { SVC_HOME: join(cli.home, 'other') } }
    await using _first = await runInProcess(`${start('one.db')} -o json`, options)
    const second = await svc(start('one.db'), options)
    expect(second.code, second.stderr).toBe(exitCodes.busy.exit_code)
    mkdirSync(join(cli.home, 'bad'))
    writeFileSync(join(cli.home, 'bad/corrupt.db'), 'no database at all, only text')
    const third = await svc(start('bad/corrupt.db'), options)
    expect(third.code, third.stderr).toBe(exitCodes.usage.exit_code)
  })
})

test('an answer off the contract is never a bug of svc: a sample', async () => {
  const { cases, problems } = await walkOddAnswers({ step: 601 })
  expect(problems).toEqual([])
  expect(cases).toBeGreaterThan(10)
})
