/** The other files of YAML: game days, and the steps of `svc observe --steps`. */
import { loadGameday } from '#gameday/gameday-file.ts'
import { loadPageSteps } from '#qa/browser/page-steps.ts'
import { readYaml } from '../suite-refusal.ts'
import { check, type FuzzTarget } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 1_500,
  words: [
    ...[
      'gameday: ',
      'rate: 1',
      'length: 2s',
      'timeline:',
      'fault: away',
      'at: 0s',
      'for: 1s',
      'expect:',
      'billed: 1 %',
    ],
    ...[
      'partner_slow',
      'consent_late',
      'rate_limited',
      'latency: 1s',
      'share: 50 %',
      'retry_after: 2s',
      'recovery: 1s',
    ],
    ...[
      '- wait: 1',
      '- click: text=Accept',
      '- wait_for: ',
      '- press: Enter',
      '- run: ',
      '- cmp: granted',
      'field: ',
      'text: ',
    ],
  ],
  run(bytes) {
    const text = bytes.toString('utf8')
    const gameday = readYaml(text, () => loadGameday(text, 'day.yaml'))
    readYaml(text, () => loadPageSteps(text, 'steps.yaml'))
    if (gameday === null) return
    const { length_ms, timeline, expect } = gameday
    check(expect.size > 0 && Number.isFinite(length_ms) && length_ms > 0, 'a game day expects nothing or has no length')
    for (const { at_ms, end_ms, latency_ms, rate } of timeline) {
      check(at_ms >= 0 && at_ms < end_ms && end_ms <= length_ms, 'a fault is outside of the run')
      check(latency_ms >= 0 && latency_ms <= 60_000, `a latency is ${latency_ms}`)
      check(rate >= 0 && rate <= 1, `a share is ${rate}`)
    }
  },
}
