/** `npm run check`: lint, types, and the rules of the architecture. Goes on after the first that fails, and names all that did. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const checkout = join(import.meta.dirname, '../..')
const types = ['--noEmit', '--checkers', '2', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/types.json']
const checks = [
  ['biome', 'ci', '.'],
  ['tsc', ...types],
  ['vitest', 'run', 'tests/architecture'],
]

const failed = checks.filter(([program = '', ...args]) => {
  const { status, error } = spawnSync(program, args, {
    cwd: checkout,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (error !== undefined) console.error(error.message)
  return status !== 0
})
if (failed.length > 0) {
  console.error(`\nnpm run check failed: ${failed.map(([program]) => program).join(', ')}.`)
  process.exitCode = 1
}
