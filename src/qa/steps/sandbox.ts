/** Steps that steer the sandbox: clock, faults, scenarios, reset; and its evidence. */
/** Members of a fault rule in a suite: those of the contract, each of which a variable may fill. */
import { z } from 'zod'
import { eventTypes } from '../../contract/control/events.ts'
import { FaultDraft } from '../../contract/control/faults.ts'
import type { Json } from '../../foundation/json.ts'
import { AnyJson, Duration, durationMs, orVariable } from '../suite/variables.ts'
import { stepKind, type Turn } from './step-kind.ts'

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

type Shape = typeof FaultDraft.shape

/** Fields of a fault rule in a suite: those of the contract, each of which a variable may fill. */
const faultMembers = z.strictObject(
  Object.fromEntries(
    Object.entries(FaultDraft.shape).map(([name, member]) => [
      name,
      orVariable(member.unwrap() as z.ZodType, `what a fault rule takes as ${name}`).optional(),
    ]),
  ) as unknown as Shape,
)

export const fault = stepKind({
  ...common,
  name: 'fault',
  summary: 'adds a fault rule, which is taken away when the case ends; or clears them all',
  shape: {
    fault: z.union([z.literal('clear'), faultMembers]).describe('Members of a rule, or clear.'),
  },
  moves: ({ fault }) => (isOfSession(fault) ? [] : ['faults']),
  title: ({ fault }) => `fault ${words(fault)}`,
  run: async ({ fault }, turn) => {
    if (fault === 'clear') return turn.call('faults.clear', {})
    const answer = await turn.call('faults.add', { body: fault as Record<string, Json> })
    const { fault_id } = answer.body as { fault_id?: string }
    if (fault_id !== undefined && isOfSession(fault as Record<string, Json>)) {
      turn.state.atEnd(() => removeFault(turn.target, fault_id))
    }
    return answer
  },
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
      actual: ok === true ? 'every chain holds' : ((chains ?? []).filter((chain) => chain.broken_at !== null) as Json),
    })
    return answer
  },
})

/** A rule for this session alone meets no other case: it may run beside them. */
function isOfSession(fault: Json | undefined): boolean {
  if (typeof fault !== 'object' || fault === null || !('session_id' in fault)) return false
  return true
}

/** It may be gone already: a rule ends by its `ttl_ms`, or by a step that clears them all. */
async function removeFault({ control }: Turn['target'], fault_id: string): Promise<void> {
  const { items } = (await control('faults.list')) as { items: { fault_id: string }[] }
  if (items.some((rule) => rule.fault_id === fault_id)) await control('faults.remove', { fault_id })
}

function words(value: Json | undefined): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.values(value)
    .filter((member) => typeof member !== 'object')
    .join(' ')
}

const Event = z.strictObject({
  type: z.string().describe(eventTypes.join(', ')),
  data: z.record(z.string(), AnyJson).optional().describe('Members of its data by dotted path.'),
})

/** Events of the case so far and from now on: what was there already is found at once. */
export const waitFor = stepKind({
  name: 'wait_for',
  summary: 'waits until an event of this case, or several in order, have happened',
  shape: { wait_for: z.union([z.string(), Event, z.array(z.union([z.string(), Event])).min(1)]).describe('Events.') },
  isRequest: false,
  needs: () => ['control'],
  moves: () => [],
  title: ({ wait_for }) => `wait for ${[wait_for].flat().map(typeOf).join(', ')}`,
  run: async ({ wait_for }, turn) => {
    const events = await turn.state.waitForEvents([wait_for].flat(), turn.signal)
    turn.check({
      subject: 'events',
      passed: true,
      expected: [wait_for].flat().map(typeOf),
      actual: events.map((event) => event.type),
    })
    return { status: 200, headers: {}, body: events.at(-1) as unknown as Json, duration_ms: 0 }
  },
})

function typeOf(event: unknown): string {
  return typeof event === 'string' ? event : String((event as { type?: unknown } | null)?.type)
}
