/**
 * Suites that run only when what they depend on has changed since they last passed: they install from the registry, build
 * programs or fill a million rows, and look at parts of the project that most changes leave alone.
 *
 *   node .ci/inputs.mjs due SUITE      exits 4, and says why, when the suite need not run; anything else means that it is to run
 *   node .ci/inputs.mjs record [SUITE...]
 *                                      writes .ci/passed.json: all but the named have passed on this commit (CI_ALL=1 .ci/run)
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const file = join(import.meta.dirname, 'passed.json')

/** Files and folders. A suite is due when any of them differs; its own tests are among them. */
const packed = ['bin', 'build', 'package.json', 'package-lock.json', 'vitest.config.ts']
export const inputs = {
  templates: [
    ...packed,
    'templates',
    'tests/binary',
    'tests/in-process',
    'tests/install',
    'tests/templates',
    // Its blocks are files of projects of tests/in-process.
    'docs/guides/testing.md',
    'src/cli/process',
    'src/client',
    'src/scaffold',
    'src/testing',
    'action.yml',
    'deploy',
    '.ci/install-toolchains',
  ],
  computers: [...packed, 'tests/computers', 'src/cli/process', 'src/foundation', '.ci/other-computers'],
  fuzz: [
    'tests/fuzz',
    'tests/interop/tools.ts',
    'package-lock.json',
    'vitest.config.ts',
    'src/agent-files',
    'src/cli/settings',
    'src/client/response.ts',
    'src/commands/evidence',
    'src/contract',
    'src/diagnosis/facts',
    'src/foundation',
    'src/gameday',
    'src/hosts',
    'src/qa',
    'src/reconciliation',
    'src/recordings',
    'sandbox/pipeline',
    'sandbox/runtime',
  ],
  shared: [
    'tests/shared-histories',
    'tests/postgres/server.ts',
    'tests/mutations/mutant-modules.ts',
    'package-lock.json',
    'vitest.config.ts',
    'sandbox/domain',
    'sandbox/operations',
    'sandbox/pipeline',
    'sandbox/platform',
    'sandbox/runtime',
    'sandbox/store',
  ],
  pauses: ['tests/pauses', 'tests/reliability/large-state.ts', 'sandbox/store', 'sandbox/operations', 'sandbox/domain'],
}

const [command, ...named] = process.argv[1] === import.meta.filename ? process.argv.slice(2) : []
const [suite] = named
const passed = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}

if (command === 'record') {
  const commit = git('rev-parse', '--short=10', 'HEAD')
  const complete = Object.keys(inputs).filter((name) => !named.includes(name))
  const entries = complete.map((name) => [name, { inputs: digest(name), commit }])
  writeFileSync(file, `${JSON.stringify({ ...passed, ...Object.fromEntries(entries) }, null, 2)}\n`)
} else if (command === 'due' && Object.hasOwn(inputs, suite)) {
  const last = passed[suite]
  const isDue = process.env.CI_ALL === '1' || last === undefined || last.inputs !== digest(suite)
  if (!isDue) {
    console.log(
      `left out: test:${suite}; what it looks at is as it was when it passed, at ${last.commit} (CI_ALL=1 runs it)`,
    )
  }
  process.exitCode = isDue ? 0 : 4
} else if (process.argv[1] === import.meta.filename) {
  console.error(`usage: node .ci/inputs.mjs due ${Object.keys(inputs).join('|')}, or record [SUITE...]`)
  process.exitCode = 2
}

/** Returns a digest of the inputs as they are in the checkout, committed or not. */
function digest(name) {
  const listed = git('ls-files', '-s', '--', ...inputs[name])
  const changed = git('status', '--porcelain', '--', ...inputs[name])
  const contents = changed === '' ? '' : git('diff', 'HEAD', '--', ...inputs[name])
  return createHash('sha256').update(`${listed}\n${changed}\n${contents}`).digest('hex').slice(0, 32)
}

function git(...words) {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 }).trim()
}
