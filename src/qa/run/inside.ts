/** Expectations that the answer itself does not show: events, billing, evidence. They need the control plane. */
import { check, type PlaceOf } from '../expect/expectations.ts'
import { matches } from '../expect/matchers.ts'
import { valueAt } from '../expect/paths.ts'
import type { Expect, ExpectedEvent } from '../expect/schema.ts'
import type { JsonValue } from '../json.ts'
import type { Check } from '../result.ts'
import type { Answer } from '../steps/step-kind.ts'
import { EventsMissing } from './event-tap.ts'
import type { RunContext } from './recording.ts'

export async function hiddenChecks(
  { events, billing, evidence }: Expect,
  answer: Answer,
  { state, target }: RunContext,
  signal: AbortSignal,
  placeOf: PlaceOf,
): Promise<Check[]> {
  const checks: Check[] = []
  if (events !== undefined) checks.push(await eventsCheck(events))
  if (billing === undefined && evidence === undefined) return checks
  const slot = valueAt(answer.body, 'slot_id')
  const slot_id = typeof slot === 'string' ? slot : state.slotOf(undefined)
  const ledger = await target.control('placements.explain', { slot_id }, undefined, signal)
  if (billing !== undefined) {
    const wanted = typeof billing === 'boolean' ? { would_bill: billing } : billing
    for (const [path, expected] of Object.entries(wanted)) {
      const actual = valueAt(ledger, `billing.${path}`)
      checks.push(check(`billing.${path}`, expected, actual, placeOf(['expect', 'billing'])))
    }
  }
  if (Array.isArray(evidence)) {
    const kinds = (valueAt(ledger, 'evidence') as { kind: string }[]).map(({ kind }) => kind)
    checks.push(check('evidence', evidence, kinds, placeOf(['expect', 'evidence'])))
  }
  if (evidence === true) {
    const verified = (await target.control('evidence.verify', {}, undefined, signal)) as { ok: boolean }
    checks.push(check('evidence', true, matches(true, verified.ok), placeOf(['expect', 'evidence'])))
  }
  return checks

  async function eventsCheck(wanted: readonly ExpectedEvent[]): Promise<Check> {
    const expected = wanted.map((event) => (typeof event === 'string' ? event : event.type))
    const place = placeOf(['expect', 'events'])
    // Events come within moments of the answer; those of a step that fails should not take its whole time.
    const soon = AbortSignal.any([signal, AbortSignal.timeout(eventsWithin_ms)])
    try {
      const seen = await state.waitForEvents(wanted as never, soon)
      return { subject: 'events', passed: true, expected, actual: seen.map(({ type }) => type), ...place }
    } catch (error) {
      if (!(error instanceof EventsMissing)) throw error
      return {
        subject: 'events',
        passed: false,
        expected,
        actual: [...error.seen] as JsonValue,
        hint: error.message,
        ...place,
      }
    }
  }
}

const eventsWithin_ms = 2_000
