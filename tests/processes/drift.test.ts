/** The daily job of "Recordings of the service": its comparison, run as the workflow runs it, in a shell. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { startSandbox } from '#sandbox/index.ts'
import { root } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/cli/test-cli.ts'
import { blocksOf } from '#tests/docs/markdown.ts'

interface Workflow {
  jobs: { compare: { steps: { id?: string; run?: string; if?: string }[] } }
}

test('the job reports a difference, does not fail for it, and opens an issue only then', async () => {
  const block = blocksOf('docs/guides/recordings.md').find(({ flags }) => flags.file === 'drift.yml')
  const { steps } = (parse(block?.text ?? '') as Workflow).jobs.compare
  const step = steps.find(({ id }) => id === 'drift')
  expect(steps.at(-1)?.if).toBe("steps.drift.outputs.code == '5'")
  const rule = { endpoint: 'projects.config', path: 'disclosure.label_text', value: 'Ad' }
  await using service = await startSandbox({ overrides: { overrides: [rule] } })
  const folder = temporaryDirectory()
  writeFileSync(join(folder, 'svc.overrides.json'), '{ "overrides": [] }')
  const script = (step?.run ?? '').replace(
    'npx --no svc-sandbox',
    `'${process.execPath}' '${join(root, 'bin/svc.js')}'`,
  )
  const env = {
    ...{ PATH: process.env.PATH, SVC_HOME: folder, SVC_BASE_URL: service.url, SVC_ORIGIN: 'http://localhost:3000' },
    ...{ SVC_CLIENT_ID: 'proj_demo', SVC_SECRET_KEY: service.keys.secret_key },
    ...{ SVC_PUBLISHABLE_KEY: service.keys.publishable_key },
    ...{ GITHUB_OUTPUT: join(folder, 'output'), GITHUB_STEP_SUMMARY: join(folder, 'summary') },
  }
  // As GitHub runs a step: any command that fails ends it.
  const { stdout, stderr } = await promisify(execFile)('bash', ['-e', '-c', script], { cwd: folder, env })
  expect(readFileSync(env.GITHUB_OUTPUT, 'utf8'), stderr).toBe('code=5\n')
  const report = readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8')
  expect(report).toContain('is Ad; the sandbox says Sponsored')
  expect(report).toContain('1 difference.')
  expect(stdout + stderr + report).not.toContain(service.keys.secret_key)
})
