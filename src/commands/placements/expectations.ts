/** `--expect`: what a placement must have come to. */
import { InvalidArgumentError, Option } from 'commander'
import { suggestValues } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import { Format, NoFillReasonCode } from '../../contract/fields.ts'
import type { PlacementResponse } from '../../contract/v1/placements.ts'

const option = new Option(
  '--expect <what>',
  'fill, no_fill, pending, format=<format> or reason=<code>; unmet: exit 5, no fill instead of a fill: exit 6 (repeatable)',
).argParser((text, before: string[] | undefined) => {
  if (!isExpectation(text)) {
    throw new InvalidArgumentError('It must be fill, no_fill, pending, format=<format> or reason=<no-fill reason>.')
  }
  return [...(before ?? []), text]
})
export const expectOption = suggestValues(option, ['fill', 'no_fill', 'pending'])

/** Throws for the first expectation that the answer does not meet. */
export function checkExpectations(answer: PlacementResponse, expected: readonly string[]): void {
  const facts = factsOf(answer)
  for (const expectation of expected) {
    if (facts.includes(expectation)) continue
    const isNoFill = expectation === 'fill' && facts.includes('no_fill')
    throw new CliError(
      isNoFill ? 'no_fill' : 'expectation',
      isNoFill ? 'no_fill' : 'expectation_unmet',
      `Expected ${expectation}, got ${facts.join(', ')}.`,
      `See why: svc placements explain ${answer.slot_id}`,
    )
  }
}

function isExpectation(text: string): boolean {
  const [name, value] = text.split('=')
  if (name === 'format') return Format.safeParse(value).success
  if (name === 'reason') return NoFillReasonCode.safeParse(value).success
  return text === 'fill' || text === 'no_fill' || text === 'pending'
}

/** Everything that may be expected of an answer and holds. */
function factsOf({ decision }: PlacementResponse): string[] {
  if (decision === null) return ['pending']
  return decision.fill ? ['fill', `format=${decision.format}`] : ['no_fill', `reason=${decision.no_fill_reason}`]
}
