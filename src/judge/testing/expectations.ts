/**
 * The expectations about a sandbox, independent of the test runner. Their messages say what happened instead, from what
 * the sandbox has received and decided.
 */
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import {
  describeBeacons,
  describeFilter,
  describeMissingBeacon,
  describeRejected,
  rejectedBeacons,
} from './describe-received.ts'
import {
  type AcceptedWait,
  type BeaconFilter,
  type BilledWait,
  eventually,
  sinceQuery,
  type TestSandbox,
} from './test-sandbox.ts'

/** The result of an expectation, in the form that both runners accept. */
export interface Verdict {
  pass: boolean
  message: () => string
}

interface Expecting {
  /** Whether the opposite is expected: then the beacons so far are checked, unless a timeout says how long to watch. */
  isNot: boolean
  /** The default timeout of an expectation, milliseconds. */
  timeout_ms: number
}

/** Whether a beacon of a kind was accepted: once or more, or exactly `count` times. */
export async function haveAccepted(
  received: unknown,
  event: BeaconEvent,
  { count, timeout, ...filter }: AcceptedWait,
  { isNot, timeout_ms }: Expecting,
): Promise<Verdict> {
  const sandbox = checkSandbox(received, 'toHaveAccepted')
  const wait_ms = timeout ?? (isNot ? 0 : timeout_ms)
  let found = 0
  const pass = await eventually(async () => {
    const beacons = await sandbox.beacons(filter)
    found = beacons.filter((beacon) => beacon.event === event && beacon.verdict === 'accepted').length
    return count === undefined ? found > 0 : found === count
  }, wait_ms)
  const what = `accepted ${event} beacon${describeFilter(filter)}`
  if (pass === (count === 0) && (isNot || count === 0) && (await isUnused(sandbox))) return nothingJudged(isNot)
  if (pass)
    return verdict(
      true,
      `Expected no ${what}, but ${found === 1 ? 'one' : found} arrived.`,
      await describeBeacons(sandbox, filter),
    )
  if (count === undefined || found === 0)
    return verdict(false, await describeMissingBeacon(sandbox, event, filter, wait_ms))
  return verdict(
    false,
    `Expected exactly ${count} accepted ${event} beacon${count === 1 ? '' : 's'}${describeFilter(filter)}, but ${found} arrived.`,
    await describeBeacons(sandbox, filter),
  )
}

/** Whether production would have billed something: once or more, or exactly `count` times. */
export async function haveBilled(
  received: unknown,
  { event, metric, count, timeout, ...filter }: BilledWait,
  { isNot, timeout_ms }: Expecting,
): Promise<Verdict> {
  const sandbox = checkSandbox(received, 'toHaveBilled')
  let found = 0
  const pass = await eventually(
    async () => {
      const beacons = await sandbox.beacons(filter)
      found = beacons.filter(
        (beacon) =>
          beacon.would_bill &&
          (event === undefined || beacon.event === event) &&
          (metric === undefined || beacon.metric === metric),
      ).length
      return count === undefined ? found > 0 : found === count
    },
    timeout ?? (isNot ? 0 : timeout_ms),
  )
  if (pass === (count === 0) && (isNot || count === 0) && (await isUnused(sandbox))) return nothingJudged(isNot)
  const kind = [event, metric].filter((part) => part !== undefined).join(', ')
  const of = describeFilter(filter)
  const heading = pass
    ? `Expected that ${kind === '' ? 'nothing' : `no ${kind}`}${of} would be billed, but ${found} would.`
    : count === undefined
      ? `${kind === '' ? 'Nothing' : `No ${kind}`}${of} would be billed.`
      : `Expected that ${count} ${kind === '' ? 'beacons' : kind}${of} would be billed, but ${found} would.`
  return verdict(pass, heading, await describeBeacons(sandbox, filter))
}

/** Whether every beacon so far was accepted, or is a repetition of an accepted one. Fails when none has arrived. */
export async function haveNoRejectedBeacons(
  received: unknown,
  filter: BeaconFilter,
  { isNot }: Pick<Expecting, 'isNot'>,
): Promise<Verdict> {
  const sandbox = checkSandbox(received, 'toHaveNoRejectedBeacons')
  const rejected = await rejectedBeacons(sandbox, filter)
  const of = describeFilter(filter)
  if (rejected.length === 0 && (await sandbox.beacons(filter)).length === 0) {
    const heading = `No beacon${of} arrived, so there was none to judge.`
    return verdict(isNot, heading, await describeBeacons(sandbox, filter))
  }
  return rejected.length === 0
    ? verdict(true, `Expected a rejected beacon${of}, but none was rejected.`, await describeBeacons(sandbox, filter))
    : verdict(
        false,
        `Expected no rejected beacon${of}, but ${rejected.length === 1 ? 'one was' : `${rejected.length} were`}:`,
        rejected.map(describeRejected).join('\n'),
      )
}

/** Whether the sandbox has received no request in this test. */
async function isUnused(sandbox: TestSandbox): Promise<boolean> {
  const query = { limit: 1, ...sinceQuery(sandbox) }
  const { requests } = sandbox.client
  const lists = await Promise.all([requests.list({ query }), requests.list({ query: { ...query, foreign: 'true' } })])
  return lists.every(({ items }) => items.length === 0)
}

/** The verdict on what must not have happened, in a sandbox that nothing has used: it fails either way. */
function nothingJudged(isNot: boolean): Verdict {
  return verdict(
    isNot,
    'The sandbox has received no request in this test, so nothing was judged.',
    'Does the app use sandbox.env? To expect that it sends nothing: expect((await sandbox.client.requests.list()).items).toEqual([])',
  )
}

/** Returns what `expect` received as a sandbox. Throws TypeError for anything else. */
function checkSandbox(received: unknown, matcher: string): TestSandbox {
  const isSandbox = typeof received === 'object' && received !== null && 'beacons' in received && 'since_ms' in received
  if (isSandbox) return received as TestSandbox
  throw new TypeError(`${matcher} expects the sandbox of a fixture: expect(sandbox).${matcher}(...)`)
}

function verdict(pass: boolean, heading: string, details?: string): Verdict {
  return { pass, message: () => (details === undefined ? heading : `${heading}\n\n${details}`) }
}
