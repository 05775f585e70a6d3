import { type Traffic, times } from '../exchange.ts'
import { noFillLoops, noFillReasonOf } from '../no-fills.ts'
import { type Check, orOk, warning } from './finding.ts'

/** No-fills after which the same session asked again at once. */
export const noFill: Check<Traffic> = {
  name: 'no-fill',
  find: ({ exchanges }) => {
    const repeated = noFillLoops(exchanges)
    const last = repeated.at(-1)?.first
    return orOk(
      last === undefined
        ? []
        : [
            warning(
              `A no-fill (${noFillReasonOf(last)}) was asked for again within a second, ${times(repeated.length)}. Last: ${last.request_id}.`,
              'Show nothing, and ask with the next turn; the same request gets the same answer.',
            ),
          ],
      'No no-fill was asked for again at once.',
    )
  },
}
