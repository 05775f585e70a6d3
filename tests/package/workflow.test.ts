/** The workflow files for hosted checkouts: what they run, with which rights, and that each action is one that cannot change. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { checkout } from './unpack.ts'

interface Workflow {
  on: Record<string, unknown>
  permissions: Record<string, string>
  jobs: Record<string, Job>
}

interface Job {
  'runs-on': string
  needs?: string | string[]
  permissions?: Record<string, string>
  strategy: { matrix: { os: string[]; node: number[]; folder: string[]; runners: string[] } }
  steps: { run?: string; uses?: string; with?: Record<string, unknown> }[]
}

const files = globSync(['.github/**/*.{yml,yaml}', 'action.{yml,yaml}', 'deploy/**/action.{yml,yaml}'], {
  cwd: checkout,
})

const read = (file: string) => readFileSync(join(checkout, file), 'utf8')

function readWorkflow(name: string): Workflow {
  return parseDocument(read(`.github/workflows/${name}`)).toJS()
}

test('every workflow is valid YAML, without a key that is there twice', () => {
  expect(globSync('.github/workflows/*', { cwd: checkout }).toSorted()).toEqual([
    join('.github', 'workflows', 'release.yml'),
    join('.github', 'workflows', 'test.yml'),
  ])
  for (const file of files) {
    const { errors, warnings } = parseDocument(read(file), { uniqueKeys: true })
    expect([...errors, ...warnings], file).toEqual([])
  }
})

/** Returns the actions of a text that are not named by a whole commit, with the version beside it. */
function unpinned(text: string): string[] {
  const lines = text.split('\n').filter((line) => /^\s*(- )?uses:/.test(line))
  return lines.filter((line) => !/uses: (\.\/\S+|[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/.test(line))
}

test('each action is named by its commit, with its version beside it', () => {
  expect(files).toEqual(expect.arrayContaining(['action.yml', join('.github', 'workflows', 'release.yml')]))
  expect(files.flatMap((file) => unpinned(read(file)).map((line) => `${file}: ${line.trim()}`))).toEqual([])
  const commit = '08c6903cd8c0fde910a37f88322edcfb5dd907a8'
  for (const line of ['actions/checkout@v5', 'actions/checkout', `actions/checkout@${commit}`, 'a/b@08c6903 # v5.0.0'])
    expect(unpinned(`steps:\n  - uses: ${line}\n`), line).toHaveLength(1)
  expect(unpinned(`  - uses: actions/checkout@${commit} # v5.0.0\n  - uses: ./\n`)).toHaveLength(1)
})

test('the tests run the command of the README on Linux, Windows and macOS, and may only read', () => {
  const { permissions, jobs } = readWorkflow('test.yml')
  const { 'runs-on': computer, strategy, steps } = jobs.test!
  expect(Object.keys(jobs)).toEqual(['test', 'runners'])
  expect(permissions).toEqual({ contents: 'read' })
  expect(computer).toContain('matrix.os')
  expect(strategy.matrix.os).toEqual(['ubuntu-latest', 'windows-latest', 'macos-latest'])
  const [command = ''] = /^npm ci && npm test(?= )/m.exec(read('README.md')) ?? []
  const commands = steps.map(({ run }) => String(run))
  expect(commands.filter((run) => command.split(' && ').includes(run))).toEqual(['npm ci', 'npm test'])
  // Between them the Node of the checkout goes, which would run the tests instead of that of the matrix.
  expect(commands.at(-2)).toMatch(/^rm -rf node_modules\/node /)
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  expect(strategy.matrix.node).toEqual([22, 24, 26])
  expect(Math.min(...strategy.matrix.node)).toBe(Math.floor(Number(/\d+\.\d+/.exec(engines.node)?.[0])))
  const node = steps.find(({ uses }) => String(uses).startsWith('actions/setup-node@'))
  expect(node?.with).toMatchObject({ 'node-version': expect.stringContaining('matrix.node') })
})

test('the packed package runs under three majors of Vitest, Playwright of two years, and two majors of TypeScript', () => {
  const { strategy, steps } = readWorkflow('test.yml').jobs.runners!
  const { node, runners } = strategy.matrix
  expect(node).toEqual([22, 24, 26])
  const versions = (name: string) => runners.flatMap((line) => line.match(new RegExp(`(?<=${name}@)\\S+`)) ?? [])
  expect(versions('vitest')).toEqual(['3', '4', '5'])
  expect(versions('@playwright/test')).toEqual(['~1.49.0', '~1.57.0', '1'])
  expect(new Set(versions('typescript'))).toEqual(new Set(['5', '7']))
  expect(steps.map(({ run }) => run).slice(-2)).toEqual([
    'npm pack',
    'node tests/package/runners.ts svc-sandbox-*.tgz $RUNNERS',
  ])
})

describe('a release', () => {
  const { on, permissions, jobs } = readWorkflow('release.yml')
  const listCommands = (name: string) => jobs[name]!.steps.map(({ run, uses }) => run ?? uses ?? '').join('\n')

  test('begins with a tag, and is built twice, compared, attested, published: each only after the one before', () => {
    expect(on).toEqual({ push: { tags: ['v[0-9]+.[0-9]+.[0-9]+'] } })
    expect(Object.entries(jobs).map(([name, { needs }]) => [name, needs])).toEqual([
      ['build', undefined],
      ['mutation-score', undefined],
      ['compare', ['build', 'mutation-score']],
      ['attest', 'compare'],
      ['npm', 'attest'],
      ['release', 'npm'],
    ])
    expect(new Set(jobs.build!.strategy.matrix.folder).size).toBe(2)
    expect(listCommands('build')).toContain('npm run release -- --dry-run')
    expect(listCommands('mutation-score')).toContain('npm run mutation-score')
    expect(listCommands('compare')).toContain('diff one/SHA256SUMS another/SHA256SUMS')
  })

  test('gives each job the rights of its steps: what runs the code of dependencies may only read', () => {
    expect(permissions).toEqual({})
    expect(Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, job.permissions]))).toEqual({
      build: { contents: 'read' },
      'mutation-score': { contents: 'read' },
      compare: { actions: 'read' },
      attest: { actions: 'read', attestations: 'write', 'id-token': 'write' },
      npm: { actions: 'read', 'id-token': 'write' },
      release: { actions: 'read', contents: 'write' },
    })
    for (const [name, { steps }] of Object.entries(jobs)) {
      const runsOthers = steps.some(({ run = '' }) => /npm (ci|install|run|test)|npx /.test(run))
      expect(runsOthers, name).toBe(name === 'build' || name === 'mutation-score')
    }
  })

  test('says who built it: npm provenance by the identity of the workflow, and attestations of every file', () => {
    expect(listCommands('npm')).toMatch(/npm publish \S+\.tgz --provenance .*--ignore-scripts/)
    const attest = jobs.attest!.steps.find(({ uses }) => uses?.startsWith('actions/attest-build-provenance@'))
    expect(attest?.with).toEqual({ 'subject-checksums': 'release/SHA256SUMS' })
    for (const file of ['*.tgz', '*.tar.xz', '*.cdx.json', 'SHA256SUMS'])
      expect(listCommands('release')).toContain(`release/${file}`)
    expect(read('.github/workflows/release.yml')).not.toMatch(/secrets\.|NODE_AUTH_TOKEN/)
  })

  test('no text of an event is put into a script', () => {
    for (const [name, { steps }] of Object.entries(jobs))
      for (const { run = '' } of steps) expect(run, name).not.toContain('${{')
  })
})
