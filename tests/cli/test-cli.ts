/** The command line under test: a real sandbox, and a Host with streams in memory. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { System } from '#cli/run/system.ts'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { manualClock, type Sandbox, startSandbox } from '#sandbox/index.ts'
import { run } from '#src/program.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { keptStream, noon, realProcesses, testHost } from './test-host.ts'

export { keptStream, noon, realProcesses, temporaryDirectory, testHost }

export interface Result {
  code: number
  stdout: string
  stderr: string
}

export interface TestCli {
  /** The state directory, used by nothing else. */
  home: string
  sandbox: Sandbox
  svc(args: string, options?: RunOptions): Promise<Result>
  [Symbol.asyncDispose](): Promise<void>
}

export interface RunOptions {
  env?: Record<string, string>
  stdin?: string
  cwd?: string
  isTerminal?: boolean
  /** Of the terminal; default: 80. */
  columns?: number
  /** Properties of the system that the test replaces. */
  system?: Partial<System>
}

/** Starts a sandbox with a fixed seed and clock; commands find it through its locator, like any other. */
export async function startTestCli({ database: file = ':memory:' } = {}): Promise<TestCli> {
  const home = temporaryDirectory()
  const sandbox = await startSandbox({ database: file, seed: 1, clock: manualClock(noon) })
  const { url, inspector_url, database, pid, version, projects } = sandbox
  await writeLocator(home, { url, inspector_url, database, pid, version, projects, started_at_ms: noon })
  return {
    home,
    sandbox,
    svc: (args, options = {}) => svc(args, { ...options, env: { SVC_HOME: home, ...options.env } }),
    [Symbol.asyncDispose]: () => sandbox.close(),
  }
}

const gameday =
  'gameday: outage\nrate: 2\nlength: 5s\ntimeline: [{ fault: away, at: 2s, for: 1s }]\nexpect: { billed: 50 % }\n'

/** Creates the folder in which the examples of a noun run, with the files that some of them read. */
export function exampleFolder({ home }: TestCli, path: string): string {
  const folder = join(home, 'examples', path.split(' ')[0]!)
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(import.meta.dirname, '../../fixtures/requests/beacons.render.json'), join(folder, 'beacons.jsonl'))
  for (const name of ['service', 'today', 'yesterday']) {
    copyFileSync(join(import.meta.dirname, 'recordings/proxy.har'), join(folder, `${name}.har`))
  }
  writeFileSync(join(folder, 'gameday.yaml'), gameday)
  writeFileSync(join(folder, 'demand.yaml'), demand)
  copyFileSync(join(import.meta.dirname, '../../fixtures/test-assets/banner-300x250.png'), join(folder, 'tea.png'))
  // Of a sandbox that stands still, and of one on the time of the system.
  const days = [noon, Date.now()].map((at_ms) => `${new Date(at_ms).toISOString().slice(0, 10)},0,0\n`)
  writeFileSync(join(folder, 'counts.csv'), `day,views,Ad clicks\n${days.join('')}`)
  return folder
}

const demand = `campaigns:
  - sponsor_name: Fernhill Tea
    click_url: https://fernhill.example/tea
    price_cpm: 40
    creatives: [{ file: tea.png }]
`

/** Runs a command line. Words are separated by spaces; a word that contains spaces is quoted by '...'. */
export async function svc(
  args: string,
  { env = {}, stdin = '', cwd, isTerminal = false, columns, system = {} }: RunOptions,
): Promise<Result> {
  const stdout = keptStream(isTerminal, columns)
  const stderr = keptStream(isTerminal, columns)
  const words = [...args.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  const given = { env, stdin, cwd: cwd ?? env.SVC_HOME ?? '/', stdout, stderr }
  const code = await run(words, { ...testHost(given), ...system })
  // A busy machine takes the second after which a command notes that it waits.
  return { code, stdout: stdout.text, stderr: stderr.text.replace(/^.*: waiting for the response\n/gm, '') }
}
