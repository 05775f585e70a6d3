/** A check as text: endpoints, what differs, what could not be looked at. */

import type { Style } from '../../cli/output/style.ts'
import { alignTable } from '../../cli/output/text.ts'
import type { Provenance } from '../../contract/provenance.ts'
import type { Difference, EndpointReport, Weight } from './difference.ts'

const provenances = ['documented', 'observed', 'assumed'] as const satisfies Provenance[]
const weights: readonly Weight[] = [...provenances, 'addition']

export interface CheckSummary {
  ok: number
  differs: number
  'not checked': number
}

export function summaryOf(endpoints: readonly EndpointReport[]): CheckSummary {
  const count = (verdict: EndpointReport['verdict']) => endpoints.filter((row) => row.verdict === verdict).length
  return { ok: count('ok'), differs: count('differs'), 'not checked': count('not checked') }
}

export function checkLines(
  endpoints: readonly EndpointReport[],
  differences: readonly Difference[],
  style: Style,
): string[] {
  const table = alignTable(
    ['endpoint', 'result', 'requests', ...provenances],
    endpoints.map((row) => [
      row.endpoint,
      row.verdict,
      row.checks.length,
      ...provenances.map((name) => seenOf(row, name)),
    ]),
    style,
    {
      result: (cell) =>
        cell.startsWith('differs') ? style.red(cell) : cell.startsWith('ok') ? style.green(cell) : style.dim(cell),
    },
  )
  const skipped = endpoints.flatMap(({ endpoint, not_checked }) =>
    not_checked.map(({ check, why }) => `  ${endpoint}, ${check}: ${why}`),
  )
  return [
    ...table,
    ...weights.flatMap((weight) => {
      const own = differences.filter((difference) => difference.weight === weight)
      return own.length === 0
        ? []
        : ['', style.bold(headings[weight]), ...own.map((one) => differenceLine(one, weight, style))]
    }),
    ...(skipped.length === 0 ? [] : ['', style.bold('Not checked'), ...skipped]),
  ]
}

const headings: Readonly<Record<Weight, string>> = {
  documented: 'Differs from what is documented',
  observed: 'Differs from what clients were seen to depend on',
  assumed: 'Differs from what is assumed here: the service decides',
  addition: 'The service has more: additions are compatible within v1',
}

/** `8/9`: of nine fields, answers had eight as they should be. */
function seenOf({ fields }: EndpointReport, provenance: Provenance): string {
  const own = fields.filter((field) => field.provenance === provenance)
  return own.length === 0 ? '-' : `${own.filter(({ verdict }) => verdict === 'ok').length}/${own.length}`
}

function differenceLine(
  { endpoint, check, what, expected, observed }: Difference,
  weight: Weight,
  style: Style,
): string {
  const paint = weight === 'documented' ? style.red : weight === 'addition' ? style.dim : style.yellow
  return `  ${endpoint}, ${check}: ${paint(what)} should be ${expected}; it is ${observed}`.replace(
    'should be no such',
    'is new: no such',
  )
}
