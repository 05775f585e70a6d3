/**
 * The GitHub action, step by step, in the shell that a runner gives: `action.yml` is read, its conditions and inputs are
 * resolved, and each script runs with what the files of the environment have collected before it.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import { checkout, environment } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'

interface Step {
  name: string
  run?: string
  if?: string
  env?: Record<string, string>
}

const { inputs, runs } = parse(readFileSync(join(import.meta.dirname, '../../action.yml'), 'utf8')) as {
  inputs: Record<string, { default: string }>
  runs: { steps: Step[] }
}

test('the action installs the package, starts a sandbox for the steps that follow, and writes the report of a suite', async () => {
  const job = new Job({ package: inject('archive'), seed: '1', suite: 'consent' })
  try {
    job.runAction()
    expect(existsSync(join(job.runnerTemp, 'svc/node_modules/.bin/svc-sandbox'))).toBe(true)
    await expectSandbox(job)
    expect(readFileSync(join(job.workspace, 'svc-qa.xml'), 'utf8')).toMatch(/<testsuites?[^>]* failures="0"/)
  } finally {
    job.stop()
  }
})

test('a suite and an observed command write the job summary and reports, also when they fail, and compare with the last run', async () => {
  const shop =
    'suite: shop\ntitle: Shop\ncases:\n  - { name: open, steps: [{ request: { method: GET, path: /v1/health } }] }\n'
  const ask = `node -e '
    const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY } = process.env
    fetch(SVC_BASE_URL + "/v1/projects/" + SVC_CLIENT_ID + "/config", { headers: { authorization: "Bearer " + SVC_SECRET_KEY } })'`
  const first = new Job({ package: 'svc-sandbox@none', suite: 'shop.yaml', observe: ask }, inject('newcomer'))
  writeFileSync(
    join(first.workspace, 'shop.yaml'),
    shop.replace('/v1/health }', '/v1/health }, expect: { status: 418 }'),
  )
  try {
    expect(first.runAction(false)).toEqual(['Run a suite'])
    const text = first.summary()
    expect(text).toMatch(/^## ❌ svc qa run: 1 of 1 case failed\n/)
    expect(text).toContain('\n## ✅ svc observe: passed')
    expect(text).not.toMatch(/sk_test_(?!redacted)\w/)
    expect(text).not.toContain('Changed against')
    const { reports } = first.outputs()
    const second = new Job(
      { package: 'svc-sandbox@none', suite: 'shop.yaml', 'compare-with': reports!, comment: 'true' },
      inject('newcomer'),
    )
    try {
      writeFileSync(join(second.workspace, 'shop.yaml'), shop.replace('/v1/health', '/_sandbox/info'))
      second.runAction()
      expect(second.summary()).toContain('## ✅ svc qa run: passed')
      expect(second.summary()).toContain('- newly passing: `shop/open`')
      expect(second.log).toContain('This run belongs to no pull request')
    } finally {
      second.stop()
    }
  } finally {
    first.stop()
    // The project is that of the other tests too.
    for (const name of ['shop.yaml', 'svc-qa.xml']) rmSync(join(first.workspace, name), { force: true })
  }
})

test('a suite that cannot be read is in the job summary', () => {
  const job = new Job({ package: 'svc-sandbox@none', suite: 'nowhere.yaml' }, inject('newcomer'))
  try {
    expect(job.runAction(false)).toEqual(['Run a suite'])
    expect(job.summary()).toBe('## ❌ svc qa run wrote no report\n\nThe log of this step says why.\n\n')
  } finally {
    job.stop()
  }
})

test('a project that has the package uses its own; without a suite there is no report', async () => {
  const job = new Job({ package: 'svc-sandbox@none', suite: '' }, inject('newcomer'))
  try {
    job.runAction()
    expect(existsSync(join(job.runnerTemp, 'svc'))).toBe(false)
    await expectSandbox(job)
    expect(existsSync(join(job.workspace, 'svc-qa.xml'))).toBe(false)
    expect(job.summary()).toBe('')
  } finally {
    job.stop()
  }
})

/** Expects a sandbox at the output, that the next step reaches with the variables that it is given. */
async function expectSandbox(job: Job): Promise<void> {
  const { url } = job.outputs()
  expect((await fetch(`${url}/_sandbox/info`)).status).toBe(200)
  const next = job.run('svc-sandbox placements create --format banner -o json && echo "$SVC_BASE_URL" >&2')
  expect(next.status, next.stderr).toBe(0)
  expect(JSON.parse(next.stdout)).toMatchObject({ decision: { fill: true, format: 'banner' } })
  expect(next.stderr).toBe(`${url}\n`)
  expect(Object.keys(job.variables()).toSorted()).toEqual(
    ['SVC_BASE_URL', 'SVC_CLIENT_ID', 'SVC_ORIGIN', 'SVC_PUBLISHABLE_KEY', 'SVC_SECRET_KEY'].toSorted(),
  )
}

/** What a runner keeps for a job: folders, and the files that steps write variables, paths and outputs into. */
class Job {
  readonly runnerTemp = temporaryDirectory()
  readonly #files: Record<'GITHUB_ENV' | 'GITHUB_OUTPUT' | 'GITHUB_PATH' | 'GITHUB_STEP_SUMMARY', string>
  readonly #inputs: Record<string, string>
  readonly #home = temporaryDirectory()
  readonly workspace: string
  /** What the steps printed. */
  log = ''

  constructor(given: Record<string, string>, workspace: string = temporaryDirectory()) {
    this.workspace = workspace
    const commands = join(this.runnerTemp, '_runner_file_commands')
    mkdirSync(commands)
    this.#files = {
      GITHUB_ENV: join(commands, 'env'),
      GITHUB_OUTPUT: join(commands, 'output'),
      GITHUB_PATH: join(commands, 'path'),
      GITHUB_STEP_SUMMARY: join(commands, 'summary'),
    }
    for (const file of Object.values(this.#files)) writeFileSync(file, '')
    const defaults = Object.entries(inputs).map(([name, input]) => [name, input.default])
    this.#inputs = { ...Object.fromEntries(defaults), ...given }
  }

  /** Runs each step that has a script, as its condition says. Returns the names of those that failed. */
  runAction(mustPass = true): string[] {
    const failed: string[] = []
    for (const step of runs.steps) {
      if (step.run === undefined || !this.#holds(step.if ?? 'success()', failed.length > 0)) continue
      const env = Object.entries(step.env ?? {}).map(([name, value]) => [
        name,
        value.replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, input: string) => this.#inputs[input]!),
      ])
      const { status, stdout, stderr } = this.run(step.run, Object.fromEntries(env))
      this.log += `${step.name}\n${stdout}\n${stderr}\n`
      if (mustPass) expect(status, `${step.name}\n${stdout}\n${stderr}`).toBe(0)
      if (status !== 0) failed.push(step.name)
    }
    return failed
  }

  /** Evaluates the condition of a step: these are expressions of JavaScript, once their names have values. */
  #holds(condition: string, hasFailed: boolean): boolean {
    const isSuccess = /\b(success|failure|always|cancelled)\(\)/.test(condition) || !hasFailed
    const script = condition
      .replace(/inputs\.([\w-]+)/g, (_, name: string) => JSON.stringify(this.#inputs[name]!))
      .replace(/steps\.start\.outcome/g, "'success'")
      .replace(/(==|!=)/g, '$1=')
    return isSuccess && runInNewContext(script, { success: () => !hasFailed, failure: () => hasFailed }) === true
  }

  /** Runs a script as `shell: bash` does. */
  run(script: string, env: Record<string, string> = {}) {
    const file = join(this.runnerTemp, 'step.sh')
    writeFileSync(file, script)
    const paths = lines(this.#files.GITHUB_PATH).toReversed()
    const { HOME: _, ...own } = environment()
    return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', file], {
      cwd: this.workspace,
      encoding: 'utf8',
      timeout: 120_000,
      env: {
        ...own,
        ...this.variables(),
        ...env,
        ...this.#files,
        HOME: this.#home,
        RUNNER_TEMP: this.runnerTemp,
        CI: 'true',
        GITHUB_ACTIONS: 'true',
        GITHUB_ACTION_PATH: checkout,
        PATH: [...paths, dirname(process.execPath), own.PATH].join(delimiter),
      },
    })
  }

  variables(): Record<string, string> {
    return pairs(this.#files.GITHUB_ENV)
  }

  outputs(): Record<string, string> {
    return pairs(this.#files.GITHUB_OUTPUT)
  }

  summary(): string {
    return readFileSync(this.#files.GITHUB_STEP_SUMMARY, 'utf8')
  }

  /** A runner ends with its job; here the sandbox is stopped. */
  stop(): void {
    this.run('svc-sandbox sandbox stop')
  }
}

function lines(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').filter(Boolean)
}

function pairs(file: string): Record<string, string> {
  return Object.fromEntries(lines(file).map((line) => [line.split('=', 1)[0]!, line.slice(line.indexOf('=') + 1)]))
}
