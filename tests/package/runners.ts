/**
 * The adapters of the packed package under versions of their runners, in a project of its own:
 * `node tests/package/runners.ts ARCHIVE vitest@3 @playwright/test@~1.49.0 typescript@5`. The workflow `test` has the matrix.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const [archive = '', ...runners] = process.argv.slice(2)
if (!archive.endsWith('.tgz') || runners.length === 0) {
  console.error(
    'Give the packed package, and what to install beside it: ARCHIVE vitest@3 @playwright/test@1.49 typescript@5',
  )
  process.exit(2)
}

/** The same turn for both runners. */
const testOf = (adapter: string) => `
import { expect, test } from 'svc-sandbox/${adapter}'

test('a render of a banner is accepted', async ({ sandbox }) => {
  const { client, keys } = sandbox
  const { slot_id, decision } = await client.placements.create({
    body: { client_id: keys.client_id, session_id: 'test', job_type: 'chat' },
  })
  const asset_token = decision?.fill ? decision.asset_token : ''
  const occurred_at_ms = Date.now()
  await client.beacons.send({ body: { beacon_id: slot_id + ':render', asset_token, event: 'render', occurred_at_ms } })
  await expect(sandbox).toHaveAccepted('render', { slot_id })
  await expect(sandbox).not.toHaveBilled({ slot_id })
})
test('the next test has a sandbox without it', async ({ sandbox }) => {
  expect(await sandbox.beacons()).toEqual([])
})
`
const clocked = `
import { expect, sandboxTest } from 'svc-sandbox/vitest'

const start_ms = Date.UTC(2026, 0, 31)
sandboxTest({ clock_start_ms: start_ms })('a test moves the clock', async ({ sandbox, clock }) => {
  clock.advance(1_000)
  expect((await sandbox.client.clock.show()).now_ms).toBe(start_ms + 1_000)
})
sandboxTest({ isolation: 'test' })('a test has a sandbox of its own', async ({ sandbox }) => {
  expect(await sandbox.beacons()).toEqual([])
})
`
const compilerOptions = {
  target: 'es2022',
  lib: ['es2024', 'esnext.disposable', 'dom'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
}

const project = mkdtempSync(join(tmpdir(), 'svc-runners-'))
let failed = 0
try {
  const files = {
    'package.json': JSON.stringify({ name: 'project', private: true, type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
    // Both runners take a .test.ts for theirs.
    'playwright.config.js': 'export default { testMatch: /\\.spec\\.ts$/ }',
    'vitest.test.ts': testOf('vitest'),
    'clock.test.ts': clocked,
    'playwright.spec.ts': testOf('playwright'),
  }
  const named = (name: string) => runners.some((runner) => runner.startsWith(`${name}@`))
  const isWanted = (file: string) =>
    !/\.(test|spec)\.ts$/.test(file) || named(file.endsWith('.spec.ts') ? '@playwright/test' : 'vitest')
  for (const [file, text] of Object.entries(files)) if (isWanted(file)) writeFileSync(join(project, file), text)
  const flags = ['--no-audit', '--no-fund', '--prefer-offline']
  run('npm', ['install', ...flags, '@types/node@22', ...runners])
  // After them, as in a project that has them: npm refuses a package whose peers do not fit.
  run('npm', ['install', ...flags, '--save-dev', resolve(archive)])
  if (named('vitest')) run('node', ['node_modules/vitest/vitest.mjs', 'run', '--exclude', '**/*.spec.ts'])
  if (named('@playwright/test')) run('node', ['node_modules/@playwright/test/cli.js', 'test', '--workers', '1'])
  if (named('typescript')) run('node', ['node_modules/typescript/bin/tsc', '-p', '.'])
} finally {
  rmSync(project, { recursive: true, force: true })
}
console.log(`${failed === 0 ? 'ok' : 'FAILED'}: ${runners.join(', ')}, Node ${process.versions.node}`)
process.exitCode = failed === 0 ? 0 : 1

function run(command: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: project,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  const isPassed = status === 0
  console.log(`${isPassed ? 'ok    ' : 'FAILED'}  ${command} ${args.join(' ')}`)
  if (isPassed) return
  failed++
  console.log(stdout + stderr)
}
