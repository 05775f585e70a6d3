/** The expectations about a sandbox, apart from the test runner that states them: each looks, and explains what it saw. */
import type { BeaconEvent } from '../contract/v1/beacons.ts'
import {
  describeBeacons,
  describeFilter,
  describeMissingBeacon,
  describeRejected,
  rejectedBeacons,
} from './explanation.ts'
import { type AcceptedWait, type BeaconFilter, type BilledWait, eventually, type TestSandbox } from './test-sandbox.ts'

/** In the form that both runners take. */
export interface Verdict {
  pass: boolean
  message: () => string
}

interface Expecting {
  /** Whether the opposite is expected: then what has come so far is judged, unless a timeout says how long to watch. */
  isNot: boolean
  /** The timeout of an expectation that names none, milliseconds. */
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
  if (pass)
    return verdict(
      true,
      `Expected no ${what}, but ${found === 1 ? 'one' : found} came.`,
      await describeBeacons(sandbox, filter),
    )
  if (count === undefined || found === 0)
    return verdict(false, await describeMissingBeacon(sandbox, event, filter, wait_ms))
  return verdict(false, `Expected ${count} times an ${what}, got ${found}.`, await describeBeacons(sandbox, filter))
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
  const kind = [event, metric].filter((part) => part !== undefined).join(', ')
  const of = describeFilter(filter)
  const heading = pass
    ? `Expected that ${kind === '' ? 'nothing' : `no ${kind}`}${of} would be billed, but ${found} would.`
    : count === undefined
      ? `${kind === '' ? 'Nothing' : `No ${kind}`}${of} would be billed.`
      : `Expected that ${count} ${kind === '' ? 'beacons' : kind}${of} would be billed, but ${found} would.`
  return verdict(pass, heading, await describeBeacons(sandbox, filter))
}

/** Whether every beacon that has come so far was accepted, or is a repetition of an accepted one. */
export async function haveNoRejectedBeacons(received: unknown, filter: BeaconFilter): Promise<Verdict> {
  const sandbox = checkSandbox(received, 'toHaveNoRejectedBeacons')
  const rejected = await rejectedBeacons(sandbox, filter)
  const of = describeFilter(filter)
  return rejected.length === 0
    ? verdict(true, `Expected a rejected beacon${of}, but none was rejected.`, await describeBeacons(sandbox, filter))
    : verdict(
        false,
        `Expected no rejected beacon${of}, but ${rejected.length === 1 ? 'one was' : `${rejected.length} were`}:`,
        rejected.map(describeRejected).join('\n'),
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
