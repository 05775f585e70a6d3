/** Traces of a real process: sent when it stops, by the packages in its bundle, which nothing else loads. */
import { expect, test } from 'vitest'
import { receiveOtlp } from '#tests/http/otlp-receiver.ts'
import { spawnSvc } from './process.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736'

test('svc start with SVC_OTLP says where traces go, sends what it has when it stops, and requests show names the trace', async () => {
  await using otlp = await receiveOtlp()
  const env = { SVC_HOME: temporaryDirectory(), SVC_OTLP: otlp.url }
  const { child, firstLine, ended } = spawnSvc(['start', '--ephemeral', '--port', '0', '-o', 'json'], env)
  const { url } = JSON.parse(await firstLine) as { url: string }
  const response = await fetch(`${url}/v1/placements`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer sk_test_sandbox_demo',
      'content-type': 'application/json',
      traceparent: `00-${trace_id}-00f067aa0ba902b7-01`,
    },
    body: JSON.stringify({ client_id: 'proj_demo', session_id: 's', job_type: 'chat' }),
  })
  expect(response.status).toBe(200)
  const run = (line: string) => svc(line, { env, system: { isRunning: () => true } })
  const shown = await run(`requests show ${response.headers.get('x-request-id')}`)
  expect(shown.stdout).toMatch(new RegExp(`^trace(_id| id)? +${trace_id}$`, 'm'))
  const listed = await run(`requests list --trace-id ${trace_id} -o jsonl`)
  expect(listed.stdout.trimEnd().split('\n')).toHaveLength(1)
  const wrong = await run('requests list --trace-id mine')
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('32 lower-case hexadecimal digits')])
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ code: 0, stderr: `Traces go to ${otlp.url}.\nSIGTERM: stopping\nstopped\n` })
  expect(otlp.problems).toEqual([])
  expect(otlp.spans.map(({ name }) => name).toSorted()).toEqual(['POST /v1/placements', 'decision'])
  expect(otlp.spans.every((span) => span.trace_id === trace_id)).toBe(true)
})

test('--otlp takes the URL of a receiver only', async () => {
  const { code, stderr } = await svc('start --otlp localhost:4318', {})
  expect(code).toBe(2)
  expect(stderr).toContain('It must be the URL of a receiver, such as http://127.0.0.1:4318.')
})
