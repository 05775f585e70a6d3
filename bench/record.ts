/**
 * What `svc record` costs a request: the same requests to a sandbox directly and through it, in turn, one after the other, as
 * an app sends them. Both are processes of their own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './processes.ts'
import { sandboxCommand, startServer } from './server.ts'

const rounds = 5
const perRound = 300
/** The most that it may add at the median, milliseconds. */
const maxAdded_ms = 2

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
const requests = {
  placement: {
    method: 'POST',
    path: '/v1/placements',
    body: '{"client_id":"proj_demo","session_id":"s","job_type":"chat"}',
  },
  config: { method: 'GET', path: '/v1/projects/proj_demo/config', body: '' },
  script: { method: 'GET', path: '/v1/render.js', body: '' },
}

const sandbox = await startServer(sandboxCommand)
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const words = ['record', '--upstream', sandbox.url, '--port', '0', '--out', join(folder, 'bench.har'), '-o', 'json']
const recorder = spawn(process.execPath, ['bin/svc.js', ...words], {
  stdio: ['ignore', 'pipe', 'ignore'],
  env: { ...process.env, SVC_HOME: folder },
})
try {
  const [line] = (await once(recorder.stdout, 'data')) as [Buffer]
  const { url } = JSON.parse(line.toString()) as { url: string }
  let unmet = 0
  for (const [name, sent] of Object.entries(requests)) {
    const direct: number[] = []
    const through: number[] = []
    // One uncounted round warms up all of them.
    for (let round = -1; round < rounds; round++) {
      for (let index = 0; index < perRound; index++) {
        const times = [await time(sandbox.url, sent), await time(url, sent)] as const
        if (round < 0) continue
        direct.push(times[0])
        through.push(times[1])
      }
    }
    const added = median(through) - median(direct)
    const verdict = added <= maxAdded_ms ? 'met   ' : 'MISSED'
    if (added > maxAdded_ms) unmet++
    console.log(
      `${name.padEnd(12)} direct ${median(direct).toFixed(2)} ms, recorded ${median(through).toFixed(2)} ms, ` +
        `ratio ${(median(through) / median(direct)).toFixed(1)}, added ${added.toFixed(2)} ms  ${verdict} (at most ${maxAdded_ms} ms)`,
    )
  }
  process.exitCode = unmet === 0 ? 0 : 1
} finally {
  recorder.kill('SIGINT')
  await once(recorder, 'exit')
  await sandbox.stop()
  agent.destroy()
  rmSync(folder, { recursive: true, force: true })
}

/** Milliseconds from a request to the end of its response. */
async function time(
  url: string,
  { method, path, body }: { method: string; path: string; body: string },
): Promise<number> {
  const started = performance.now()
  const sent = request(url + path, { agent, method, headers }).end(body)
  const [received] = (await once(sent, 'response')) as [import('node:http').IncomingMessage]
  received.resume()
  await once(received, 'end')
  return performance.now() - started
}
