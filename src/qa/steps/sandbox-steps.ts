/** Steps that steer the sandbox: clock, faults, scenarios, reset; and its evidence. */
import { z } from 'zod'
import type { JsonValue } from '../json.ts'
import { Duration, durationMs, orVariable } from '../suite/fields.ts'
import { faultMembers } from './fault-members.ts'
import { stepKind } from './step-kind.ts'

const common = { isRequest: false, needs: () => ['control'] as const }

const Clock = z.union([
  z.enum(['freeze', 'resume', 'real']),
  z.strictObject({ advance: Duration.describe('How far forward: 31m.') }),
  z.strictObject({
    set: orVariable(z.int().min(0), 'epoch milliseconds').describe('The instant, epoch milliseconds.'),
  }),
])

export const clock = stepKind({
  ...common,
  name: 'clock',
  summary: 'moves the clock of the sandbox',
  shape: { clock: Clock.describe('{ advance: 31m }, { set: ms }, freeze, resume, or real: the time of the machine.') },
  moves: () => ['clock'],
  title: ({ clock }) => `clock ${words(clock)}`,
  run: ({ clock }, turn) => {
    if (clock === 'freeze') return turn.call('clock.freeze', { body: {} })
    if (clock === 'resume') return turn.call('clock.resume', { body: {} })
    if (clock === 'real') return turn.call('clock.set', { body: { to_ms: null } })
    if ('advance' in clock) return turn.call('clock.advance', { body: { by_ms: durationMs(clock.advance) } })
    return turn.call('clock.set', { body: { to_ms: clock.set } })
  },
})

export const fault = stepKind({
  ...common,
  name: 'fault',
  summary: 'adds a fault rule, which meets requests of this session unless it says otherwise; or clears them all',
  shape: {
    fault: z.union([z.literal('clear'), faultMembers]).describe('Members of a rule, or clear.'),
  },
  moves: () => ['faults'],
  title: ({ fault }) => `fault ${words(fault)}`,
  run: ({ fault }, turn) =>
    fault === 'clear'
      ? turn.call('faults.clear', {})
      : turn.call('faults.add', { body: fault as Record<string, JsonValue> }),
})

export const scenario = stepKind({
  ...common,
  name: 'scenario',
  summary: 'puts a scenario into force, or ends it',
  shape: { scenario: z.string().describe('Name of the scenario; none ends it.') },
  moves: () => ['scenario'],
  title: ({ scenario }) => `scenario ${String(scenario)}`,
  run: ({ scenario }, turn) =>
    scenario === 'none'
      ? turn.call('scenario.clear', {})
      : turn.call('scenario.use', { params: { name: scenario }, body: {} }),
})

export const reset = stepKind({
  ...common,
  name: 'reset',
  summary: 'resets the sandbox to its seed; only where it was started for this run',
  shape: { reset: z.null().describe('Nothing.') },
  needs: () => ['control', 'erasable'],
  moves: () => ['everything'],
  title: () => 'reset',
  run: (_, turn) => turn.call('sandbox.reset', { body: {} }),
})

export const evidence = stepKind({
  ...common,
  name: 'evidence',
  summary: 'verifies the evidence chains',
  shape: { evidence: z.literal('verify').describe('verify') },
  moves: () => [],
  title: () => 'evidence verify',
  run: async (_, turn) => {
    const answer = await turn.call('evidence.verify', {})
    const { ok, chains } = answer.body as { ok?: boolean; chains?: { broken_at: number | null }[] }
    turn.check({
      subject: 'evidence',
      passed: ok === true,
      expected: 'every chain holds',
      actual:
        ok === true ? 'every chain holds' : ((chains ?? []).filter((chain) => chain.broken_at !== null) as JsonValue),
    })
    return answer
  },
})

function words(value: JsonValue | undefined): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.values(value)
    .filter((member) => typeof member !== 'object')
    .join(' ')
}
