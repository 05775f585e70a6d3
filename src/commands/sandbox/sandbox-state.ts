/** Whether a sandbox that a locator names answers, and since when it runs. */

import type { Style } from '../../cli/output/style.ts'
import type { Locator } from '../../cli/process/locator.ts'
import { createClient } from '../../client/index.ts'

/** A sandbox on this machine answers at once or not at all. */
const answerWithin_ms = 2_000
const units: [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
]

export async function isReady({ url }: Pick<Locator, 'url'>): Promise<boolean> {
  const client = createClient({ base_url: url, timeout_ms: answerWithin_ms })
  return client.health.ready().then(
    () => true,
    () => false,
  )
}

export function stateText(is_ready: boolean, style: Style): string {
  return is_ready ? style.green('ready') : style.red('no answer')
}

/** `3s`, `31m`, `5h`, `2d`: in the largest unit that is not zero. */
export function upTime(span_ms: number): string {
  const [unit, length] = units.find(([, length]) => span_ms >= length) ?? ['s', 1_000]
  return `${Math.max(0, Math.floor(span_ms / length))}${unit}`
}
