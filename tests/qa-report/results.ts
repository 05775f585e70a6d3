/** Results of runs, built by hand: as a runner would write them, with defaults for what a test does not care about. */
import { PNG } from 'pngjs'
import type { SourceLocation } from '#foundation/finding.ts'
import type { CaseExchange, CaseResult, Check, RunResult, Screenshot, StepResult } from '#qa/result.ts'

/** 2026-03-04T10:20:30.400Z */
export const started_at_ms = 1_772_619_630_400

export function place(line = 1, column = 1, file = 'suites/beacons.yaml'): SourceLocation {
  return { file, line, column }
}

export function check(given: Partial<Check> = {}): Check {
  return { subject: 'status', passed: true, expected: 200, actual: 200, ...given }
}

export function exchange(given: Partial<CaseExchange> = {}): CaseExchange {
  return {
    method: 'POST',
    url: 'http://127.0.0.1:4010/v1/placements',
    request_headers: { 'content-type': 'application/json', authorization: 'Bearer [redacted]' },
    request_body: '{"client_id":"demo","session_id":"s-1","job_type":"chat"}',
    status: 200,
    response_headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    response_body: '{"status":"fill","slot_id":"slot_01","format":"banner"}',
    error: null,
    duration_ms: 4.2,
    curl: `curl -sS -X POST 'http://127.0.0.1:4010/v1/placements' \\
  -H 'authorization: Bearer '"$SVC_SECRET_KEY" \\
  --data-raw '{"client_id":"demo","session_id":"s-1","job_type":"chat"}'`,
    ...given,
  }
}

export function step(given: Partial<StepResult> = {}): StepResult {
  return {
    title: 'placement',
    place: place(4, 5),
    outcome: 'passed',
    reason: null,
    duration_ms: 5,
    exchanges: [exchange()],
    checks: [check(), check({ subject: 'body.status', expected: 'fill', actual: 'fill' })],
    screenshots: [],
    ...given,
  }
}

export function item(given: Partial<CaseResult> = {}): CaseResult {
  const suite = given.suite ?? 'beacons'
  const name = given.name ?? 'a visible beacon is accepted'
  return {
    id: `${suite}/${name}`,
    suite,
    name,
    place: place(3, 3),
    tags: [],
    matrix: {},
    attempt: 1,
    outcome: 'passed',
    reason: null,
    started_at_ms,
    duration_ms: 12,
    steps: [step()],
    ...given,
  }
}

export function failedItem(given: Partial<CaseResult> = {}): CaseResult {
  return item({
    name: 'a beacon bills once',
    place: place(30, 5),
    outcome: 'failed',
    duration_ms: 34,
    steps: [
      step(),
      step({
        title: 'beacon visible, again',
        place: place(36, 9),
        outcome: 'failed',
        checks: [
          check({ subject: 'status', expected: 202, actual: 202 }),
          check({
            subject: 'body.verdict',
            passed: false,
            expected: 'duplicate',
            actual: 'accepted',
            hint: 'The same event of one slot counts once.',
            place: place(39, 13),
          }),
        ],
        exchanges: [
          exchange({
            url: 'http://127.0.0.1:4010/v1/beacons',
            status: 202,
            curl: "curl -sS 'http://127.0.0.1:4010/v1/beacons'",
          }),
        ],
      }),
      step({
        title: 'ledger',
        outcome: 'not_run',
        duration_ms: 0,
        reason: 'a step before it failed',
        exchanges: [],
        checks: [],
      }),
    ],
    ...given,
  })
}

export function run(cases: CaseResult[], given: Partial<RunResult> = {}): RunResult {
  return {
    command: 'qa run',
    target: { base_url: 'http://127.0.0.1:4010', kind: 'fresh', version: '0.1.0', key_mode: 'test' },
    svc_version: '0.1.0',
    started_at_ms,
    duration_ms: 1_234,
    cases,
    interrupted: null,
    ...given,
  }
}

/** Returns a PNG of one colour, with a frame. */
export function screenshot(name: string, width = 300, height = 120): Screenshot {
  const image = new PNG({ width, height })
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const isFrame = x < 3 || y < 3 || x >= width - 3 || y >= height - 3
      image.data.set(isFrame ? [30, 40, 60, 255] : [228, 236, 250, 255], (y * width + x) * 4)
    }
  }
  return { name, width, height, png: new Uint8Array(PNG.sync.write(image)) }
}

/** Text that would be markup, steer a terminal or change the reading direction if it were printed unchanged. */
export const hostile = `</script><script>window.stolen=1</script><img src=x onerror="window.stolen=2">'"&\u001b[31m\u0000\u202e`

/** One of everything: suites that pass, fail and do not apply; a matrix; attempts; a diff; screenshots; hostile text. */
export function everything(): RunResult {
  const formats = ['banner', 'clip', 'native']
  const shapes = formats.flatMap((format) =>
    ['chat', 'code', 'image'].map((job_type) => {
      const isBad = format === 'clip' && job_type === 'code'
      return item({
        id: `formats/${format} of ${job_type} has its shape`,
        suite: 'formats',
        name: `${format} of ${job_type} has its shape`,
        place: place(8, 5, 'builtin:formats'),
        tags: ['shape', format],
        matrix: { format, job_type },
        duration_ms: 8 + format.length * 3 + job_type.length,
        ...(isBad && {
          outcome: 'failed' as const,
          steps: [
            step({
              outcome: 'failed',
              checks: [
                check(),
                check({
                  subject: 'body.placement.creative',
                  passed: false,
                  expected: { kind: 'clip', width: 640, height: 360, assets: [{ type: 'video/mp4' }], muted: true },
                  actual: { kind: 'clip', width: 640, height: 480, assets: [{ type: 'video/webm' }], muted: true },
                  hint: 'A clip is 16:9 and plays everywhere: MP4 comes first.',
                }),
              ],
            }),
          ],
        }),
      })
    }),
  )
  const reasons = ['no_demand', 'consent_denied', 'frequency_cap', 'policy_blocked'].map((reason, index) =>
    item({
      id: `no-fill/answers ${reason}`,
      suite: 'no-fill',
      name: `answers ${reason}`,
      place: place(5, 5, 'builtin:no-fill'),
      tags: ['no_fill'],
      matrix: { reason },
      duration_ms: 6 + index,
    }),
  )
  return run([
    ...shapes,
    ...reasons,
    item(),
    failedItem(),
    item({ name: 'a stale beacon is refused', place: place(60, 5), duration_ms: 9 }),
    failedItem({
      name: 'the answer is prompt',
      place: place(80, 5),
      steps: [
        step({
          title: 'poll',
          outcome: 'failed',
          reason: 'It took longer than 2000 ms. Is the service up? Run svc doctor.',
          checks: [],
          exchanges: [
            exchange({
              status: 0,
              response_headers: {},
              response_body: null,
              error: 'connect ECONNREFUSED 127.0.0.1:4010',
            }),
          ],
        }),
      ],
    }),
    item({
      suite: 'renderer',
      name: 'a banner is drawn',
      tags: ['browser'],
      duration_ms: 840,
      steps: [step({ title: 'frame', duration_ms: 700, screenshots: [screenshot('banner')] })],
    }),
    failedItem({
      suite: 'renderer',
      name: 'the label is seen',
      tags: ['browser'],
      duration_ms: 1_320,
      steps: [
        step({
          title: 'frame',
          outcome: 'failed',
          duration_ms: 1_200,
          screenshots: [screenshot('label', 640, 200)],
          checks: [
            check({ subject: 'pixels', passed: false, expected: 'at most 0.1 % differ', actual: '4.2 % differ' }),
          ],
        }),
      ],
    }),
    ...['clock', 'faults', 'scenario'].map((name) =>
      item({
        suite: 'control',
        name: `${name} can be set`,
        outcome: 'not_applicable',
        reason: 'needs a sandbox: the target is a service',
        steps: [],
        duration_ms: 0,
      }),
    ),
    item({
      suite: 'limits',
      name: 'the rate limit answers 429',
      outcome: 'not_run',
      reason: 'stopped after 4 failures (--bail 4)',
      steps: [],
      duration_ms: 0,
    }),
    item({ suite: 'unsteady', name: 'arrives in order', id: 'unsteady/arrives in order', attempt: 1 }),
    failedItem({ suite: 'unsteady', name: 'arrives in order', id: 'unsteady/arrives in order', attempt: 2 }),
    failedItem({
      suite: 'hostile',
      name: `text ${hostile}`,
      tags: [hostile],
      matrix: { creative: hostile },
      reason: hostile,
      steps: [
        step({
          title: hostile,
          outcome: 'failed',
          checks: [
            check({
              subject: hostile,
              passed: false,
              expected: { a: hostile },
              actual: { b: [hostile] },
              hint: hostile,
            }),
          ],
          exchanges: [
            exchange({
              url: `http://127.0.0.1:4010/${hostile}`,
              request_body: hostile,
              response_body: hostile,
              error: hostile,
              response_headers: { [hostile]: hostile },
              curl: hostile,
            }),
          ],
          screenshots: [screenshot(hostile, 40, 30)],
        }),
      ],
    }),
  ])
}
