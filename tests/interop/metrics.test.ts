/**
 * Metrics, read by what reads them: promtool of Prometheus, and the OpenMetrics parser of its Python client. Those that
 * this computer does not have are printed: `.ci/install-monitoring` installs both.
 */
import { accessSync, constants, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSandbox } from '../../sandbox/index.ts'
import { readExposition } from '../http/exposition.ts'
import { run } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'

interface Reader {
  program: string
  accept: string
  args: readonly string[]
}

const countFamilies = `import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
print(sum(1 for family in text_string_to_metric_families(sys.stdin.read())))`

const readers: readonly Reader[] = [
  { program: '/usr/bin/promtool', accept: 'text/plain', args: ['check', 'metrics'] },
  { program: '/usr/bin/python3', accept: 'application/openmetrics-text', args: ['-c', countFamilies] },
]

test('metrics after turns are read without a finding by each reader that is here', async () => {
  await using sandbox = await startSandbox()
  await sendRequests(sandbox.url)
  const directory = temporaryDirectory()
  const missing: string[] = []
  for (const { program, accept, args } of readers) {
    const response = await fetch(`${sandbox.url}/_sandbox/metrics`, { headers: { accept } })
    const text = await response.text()
    // Whatever is installed: it is no error body, and has what was sent.
    const families = readExposition(text, accept === 'text/plain' ? 'prometheus' : 'openmetrics')
    expect(families.size).toBeGreaterThan(20)
    if (!(await isInstalled(program))) {
      missing.push(program)
      continue
    }
    const file = join(directory, 'metrics.txt')
    writeFileSync(file, text)
    const printed = await run('sh', ['-c', '"$0" "$@" < metrics.txt', program, ...args], directory)
    // promtool prints what it would change, the other one how many families it has read.
    expect(printed.trim(), program).toBe(program.endsWith('promtool') ? '' : String(families.size))
  }
  if (missing.length > 0) console.log(`left out: ${missing.join(' and ')}, which .ci/install-monitoring installs`)
})

async function sendRequests(url: string): Promise<void> {
  const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
  const body = { client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat' }
  for (const more of [{}, { test_outcome: 'no_fill' }, { job_type: 3 }])
    await fetch(`${url}/v1/placements`, { method: 'POST', headers, body: JSON.stringify({ ...body, ...more }) })
}

/** Whether a program is here; of Python, whether it has the parser. */
async function isInstalled(program: string): Promise<boolean> {
  try {
    accessSync(program, constants.X_OK)
    if (program.endsWith('python3')) await run(program, ['-c', 'import prometheus_client'], tmpdir())
    return true
  } catch {
    return false
  }
}
