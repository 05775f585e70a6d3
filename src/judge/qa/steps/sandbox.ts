/** Steps that only a sandbox has: its clock, faults, scenarios, reset, events and evidence. */
import { z } from 'zod'
import { FaultDraft } from '#contract/resources/sandbox/faults.ts'
import { isObject, type Json, valueAt } from '#foundation/json.ts'
import { ExpectedEvent } from '../expect/expectations.ts'
import { namesIn } from '../suite/package-files.ts'
import { Duration, durationMs, orVariable } from '../suite/variables.ts'
import { type StepContext, stepKind } from './step-kind.ts'

const common = { isRequest: false, needs: () => ['control'] as const }

/** Waits for events of the case; those that came before the step count. */
export const waitFor = stepKind({
  ...common,
  name: 'wait_for',
  summary: 'waits until an event of this case, or several in order, have happened',
  shape: { wait_for: z.union([ExpectedEvent, z.array(ExpectedEvent).min(1)]).describe('Events.') },
  title: ({ wait_for }) => `wait for ${[wait_for].flat().map(readType).join(', ')}`,
  run: async ({ wait_for }, { state, signal, check }) => {
    const wanted = [wait_for].flat()
    const events = await state.waitForEvents(wanted, signal)
    const actual = events.map(({ type }) => type)
    check({ subject: 'events', passed: true, expected: wanted.map(readType), actual })
    return { status: 200, headers: {}, body: events.at(-1) as unknown as Json, duration_ms: 0 }
  },
})

function readType(event: unknown): string {
  return typeof event === 'string' ? event : String(valueAt(event, 'type'))
}

const Clock = z.union([
  z.enum(['freeze', 'resume', 'real']),
  z.strictObject({ advance: Duration.describe('How far forward: 31m.') }),
  z.strictObject({ set: orVariable(z.int().min(0), 'epoch milliseconds').describe('The time, epoch milliseconds.') }),
])

export const clock = stepKind({
  ...common,
  name: 'clock',
  summary: 'moves the clock of the sandbox',
  shape: { clock: Clock.describe('{ advance: 31m }, { set: ms }, freeze, resume, or real: the time of the host.') },
  changes: () => ['clock'],
  title: ({ clock }) => `clock ${valuesText(clock)}`,
  run: ({ clock }, { call }) => {
    if (clock === 'freeze') return call('clock.freeze', { body: {} })
    if (clock === 'resume') return call('clock.resume', { body: {} })
    if (clock === 'real') return call('clock.set', { body: { to_ms: null } })
    if ('advance' in clock) return call('clock.advance', { body: { by_ms: durationMs(clock.advance) } })
    return call('clock.set', { body: { to_ms: clock.set } })
  },
})

/** A fault rule in a suite: the fields of the contract, each of which a variable may fill. */
const FaultRule = z.strictObject(
  Object.fromEntries(
    Object.entries(FaultDraft.shape).map(([name, field]) => [
      name,
      orVariable(field.unwrap() as z.ZodType, `what a fault rule takes as ${name}`).optional(),
    ]),
  ) as unknown as typeof FaultDraft.shape,
)

export const fault = stepKind({
  ...common,
  name: 'fault',
  summary: 'adds a fault rule, which is removed when the case ends; or clears them all',
  shape: { fault: z.union([z.literal('clear'), FaultRule]).describe('Fields of a rule, or clear.') },
  changes: ({ fault }) => (isOfSession(fault) ? [] : ['faults']),
  title: ({ fault }) => `fault ${valuesText(fault)}`,
  run: async ({ fault }, { call, state, target }) => {
    if (fault === 'clear') return call('faults.clear', {})
    const rule = fault as Record<string, Json>
    const response = await call('faults.add', { body: rule })
    const fault_id = valueAt(response.body, 'fault_id')
    if (typeof fault_id === 'string' && isOfSession(rule)) state.onEnd(() => removeFault(target, fault_id))
    return response
  },
})

/** Whether a rule is for one session: it meets no other case, which may run beside this one. */
function isOfSession(fault: Json | undefined): boolean {
  return isObject(fault) && 'session_id' in fault
}

/** Removes a rule, unless its `ttl_ms` or a step that clears all rules has ended it. */
async function removeFault({ control }: StepContext['target'], fault_id: string): Promise<void> {
  const { items } = await control<{ items: { fault_id: string }[] }>('faults.list')
  if (items.some((rule) => rule.fault_id === fault_id)) await control('faults.remove', { fault_id })
}

const Scenario = z.union([z.enum(['none', ...namesIn('fixtures/scenarios/', '.json')]), z.string().regex(/\{\{/)])

export const scenario = stepKind({
  ...common,
  name: 'scenario',
  summary: 'activates a scenario, or ends it',
  shape: { scenario: Scenario.describe('Name of the scenario; none ends it.') },
  changes: () => ['scenario'],
  title: ({ scenario }) => `scenario ${String(scenario)}`,
  run: ({ scenario }, { call }) =>
    scenario === 'none' ? call('scenario.clear', {}) : call('scenario.use', { params: { name: scenario }, body: {} }),
})

export const reset = stepKind({
  ...common,
  name: 'reset',
  summary: 'resets the sandbox to its seed; only a sandbox that was started for this run',
  shape: { reset: z.null().describe('Nothing.') },
  needs: () => ['control', 'erasable'],
  changes: () => ['everything'],
  title: () => 'reset',
  run: (_, { call }) => call('sandbox.reset', { body: {} }),
})

export const evidence = stepKind({
  ...common,
  name: 'evidence',
  summary: 'verifies the evidence chains',
  shape: { evidence: z.literal('verify').describe('verify') },
  title: () => 'evidence verify',
  run: async (_, { call, check }) => {
    const response = await call('evidence.verify', {})
    const passed = valueAt(response.body, 'ok') === true
    const chains = valueAt(response.body, 'chains')
    const broken = Array.isArray(chains) ? chains.filter((chain) => valueAt(chain, 'broken_at') !== null) : []
    const expected = 'every chain holds'
    check({ subject: 'evidence', passed, expected, actual: passed ? expected : broken })
    return response
  },
})

/** Returns the values of a step's options for its title. */
function valuesText(value: Json | undefined): string {
  if (!isObject(value)) return String(value)
  return Object.values(value)
    .filter((field) => typeof field !== 'object')
    .join(' ')
}
