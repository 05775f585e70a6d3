/** `svc requests verify`: counts the requests that match, and fails when they are not as many as expected. */
import { InvalidArgumentError, Option } from 'commander'
import { callEndpoint } from '../../cli/endpoint/endpoint-command.ts'
import type { Style } from '../../cli/output/style.ts'
import { alignPairs, formatValue } from '../../cli/output/text.ts'
import type { Command, CommandInput } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import type { FailedCondition, NearMiss, RequestItem, RequestMatch } from '../../contract/control/requests.ts'
import type { Output } from '../../contract/endpoint.ts'
import type { Contract } from '../../contract/index.ts'
import { matchOf, matchOptions } from './match.ts'

interface VerifyOptions {
  times?: number
  atLeast?: number
  none?: true
}

interface Expected {
  text: string
  isMet(count: number): boolean
}

/** Requests that are shown when the count differs. */
const shown = 3

export const verifyRequests: Command = {
  name: 'verify',
  summary: 'Check how many requests match',
  details:
    'Counts the requests of the journal that meet every condition. As many as expected: exit 0. If not: exit 5, with the requests that came nearest and what they failed, or the newest of those too many. Without --times, --at-least or --none, one at least is expected.',
  options: [
    ...matchOptions(),
    new Option('--times <n>', 'exactly this many').argParser(count).conflicts(['atLeast', 'none']),
    new Option('--at-least <n>', 'this many or more').argParser(count).conflicts('none'),
    new Option('--none', 'not a single one'),
  ],
  examples: [
    'requests verify --method POST --path /v1/placements --status-class 2xx',
    'requests verify --path /v1/placements --body overrides.allowed_formats.0=banner --at-least 1 -o json',
  ],
  run: verify,
}

async function verify(session: Session, given: CommandInput): Promise<number> {
  const match = matchOf(session, given)
  const expected = expectedOf(given.options as VerifyOptions)
  const count = await countAll(session, match)
  if (expected.isMet(count)) {
    session.out.data({ ok: true, count, expected: expected.text }, (style) => figures(count, expected, style))
    return 0
  }
  const matching = expected.isMet(count + 1) || count === 0 ? [] : await newestOf(session, match)
  const nearest = matching.length > 0 ? [] : await nearestOf(session, match)
  session.out.data({ ok: false, count, expected: expected.text, matching, nearest }, (style) => [
    ...figures(count, expected, style),
    ...matching.map((request) => `match  ${describe(request)}`),
    ...nearest.flatMap((miss) => [
      `near   ${describe(miss)}`,
      ...miss.failed.map((failed) => `       ${describeFailed(failed)}`),
    ]),
  ])
  throw new CliError(
    'expectation',
    'count_differs',
    `Expected ${expected.text}, found ${count}.`,
    'See what was sent: svc requests list',
  )
}

function expectedOf({ times, atLeast = 1, none }: VerifyOptions): Expected {
  if (none === true) return { text: 'none', isMet: (found) => found === 0 }
  if (times !== undefined) return { text: `exactly ${times}`, isMet: (found) => found === times }
  return { text: `at least ${atLeast}`, isMet: (found) => found >= atLeast }
}

/** Over the whole journal: each answer counts as far as it has looked. */
export async function countAll(session: Session, match: RequestMatch): Promise<number> {
  let total = 0
  let cursor: string | null = null
  do {
    const body: object = { ...match, ...(cursor === null ? {} : { cursor }) }
    const { data } = await callEndpoint(session, 'requests.count', { body })
    const { count, next_cursor } = data as Output<Contract['requests.count']>
    total += count
    cursor = next_cursor
  } while (cursor !== null)
  return total
}

async function newestOf(session: Session, match: RequestMatch): Promise<RequestItem[]> {
  const { data } = await callEndpoint(session, 'requests.find', { body: { ...match, limit: shown } })
  return (data as Output<Contract['requests.find']>).items
}

async function nearestOf(session: Session, match: RequestMatch): Promise<NearMiss[]> {
  const { data } = await callEndpoint(session, 'requests.nearest', { body: { ...match, limit: shown } })
  return (data as Output<Contract['requests.nearest']>).items
}

function figures(found: number, expected: Expected, style: Style): string[] {
  return alignPairs(
    [
      ['count', String(found)],
      ['expected', expected.text],
    ],
    style,
  )
}

function describe({ method, path, status, request_id }: RequestItem): string {
  return `${formatValue(method)} ${formatValue(path)} ${status}  ${request_id}`
}

/** `body.event is "visible", not "click"` */
export function describeFailed({ condition, expected, actual }: FailedCondition): string {
  return `${condition} is ${formatValue(JSON.stringify(actual))}, not ${formatValue(JSON.stringify(expected))}`
}

function count(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
