/** Each script that runs tests ends with what is true of them, by way of npm and with what its suite starts around a run. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { suites } from '#tests/runner/suites.ts'

const checkout = join(import.meta.dirname, '../..')

function runScript(name: string): Promise<{ code: number | string; output: string }> {
  // SVC_TESTS_PID would make it share the temporary folder of this run, which it removes.
  const { VITEST: _, ...inherited } = process.env
  const env = { ...inherited, SVC_FAILING_TEST: '1', SVC_TESTS_PID: '' }
  return new Promise((resolve) => {
    execFile('npm', ['run', name], { cwd: checkout, env, shell: process.platform === 'win32' }, (error, stdout) =>
      resolve({ code: error?.code ?? 0, output: stdout }),
    )
  })
}

test.for(Object.keys(suites))('npm run %s with one failing test ends with a code that is not 0', async (name) => {
  const { code, output } = await runScript(name)
  expect(output).toContain(`npm run ${name} failed: its exit code is 1.`)
  expect(code).toBe(1)
})
