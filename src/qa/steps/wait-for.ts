import { z } from 'zod'
import { eventTypes } from '../../contract/control/events.ts'
import type { JsonValue } from '../json.ts'
import { Json } from '../suite/fields.ts'
import { stepKind } from './step-kind.ts'

const Event = z.strictObject({
  type: z.string().describe(eventTypes.join(', ')),
  data: z.record(z.string(), Json).optional().describe('Members of its data by dotted path.'),
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
    return { status: 200, headers: {}, body: events.at(-1) as unknown as JsonValue, duration_ms: 0 }
  },
})

function typeOf(event: unknown): string {
  return typeof event === 'string' ? event : String((event as { type?: unknown } | null)?.type)
}
