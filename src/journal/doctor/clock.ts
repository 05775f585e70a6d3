import { type Check, ok, warning } from './finding.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

/** An offset below this is no more than the time a request takes. */
const unremarkableMs = 1_000

export const clock: Check<Pick<SandboxFacts, 'info' | 'command_name'>> = {
  name: 'clock',
  find: ({ info: { clock }, command_name }) => {
    if (clock.frozen) {
      return [
        warning(
          `The sandbox clock stands still at ${new Date(clock.now_ms).toISOString()}.`,
          `Beacons that a browser stamps may be stale or in the future. Let it run: ${command_name} sandbox clock resume`,
        ),
      ]
    }
    const { offset_ms } = clock
    if (Math.abs(offset_ms) < unremarkableMs) return [ok('The sandbox clock is the system clock.')]
    return [
      warning(
        `The sandbox clock is ${spanText(Math.abs(offset_ms))} ${offset_ms > 0 ? 'ahead of' : 'behind'} the system clock.`,
        `Set it to the time of this machine: ${command_name} sandbox clock set now`,
      ),
    ]
  },
}

/** `2 h 5 min`, the two largest units. */
export function spanText(span_ms: number): string {
  const seconds = Math.round(span_ms / 1000)
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor((seconds % 86_400) / 3_600), 'h'],
    [Math.floor((seconds % 3_600) / 60), 'min'],
    [seconds % 60, 's'],
  ]
  const shown = parts.filter(([count]) => count > 0).slice(0, 2)
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}
