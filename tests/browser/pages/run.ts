/** Runs pages of the table in a browser, and compares what the page, its backend and the service have seen. */
import { isDeepStrictEqual } from 'node:util'
import type { Client } from '#client/index.ts'
import { wait_ms } from '#tests/patience.ts'
import type { DrivenPage, Driver, Outcome, PageCase, PageOfCases, Phase } from './case.ts'
import type { PageHost } from './page-host.ts'
import type { CaseState } from './prelude.ts'

/** The dwell of a view and some more. */
const dwell_ms = 1_600
const interval_ms = 200

export interface Running {
  driver: Driver
  host: PageHost
  client: Client
}

let runs = 0

/** Opens a page and runs its cases side by side. Resolves to what was wrong, by case; empty when nothing was. */
export async function runPage(running: Running, page: PageOfCases): Promise<Record<string, string[]>> {
  const { driver, host } = running
  const run = `${driver.engine}-${process.pid}-${++runs}`
  const opened = await driver.open(host.urlOf(page, run))
  try {
    const problems = await Promise.all(
      page.cases.map(async (each) => [each.id, await runCase(running, opened, each, `${run}-${each.id}`)] as const),
    )
    return Object.fromEntries(problems.filter(([, found]) => found.length > 0))
  } finally {
    await opened.close()
  }
}

async function runCase(
  running: Running,
  page: DrivenPage,
  { id, phases }: PageCase,
  session: string,
): Promise<string[]> {
  for (const [index, phase] of phases.entries()) {
    const look = () => readSeen(running, page, id, index, session)
    if (phase.run !== undefined) await page.call('hostRun', [id, index])
    let problems = await look().then((state) => compare(phase, state))
    const end = performance.now() + wait_ms
    while (problems.length > 0 && performance.now() < end) {
      await page.pass(interval_ms)
      problems = compare(phase, await look())
    }
    if (problems.length === 0 && staysLong(phase)) {
      await page.pass(dwell_ms)
      problems = compare(phase, await look()).map((problem) => `later, ${problem}`)
    }
    if (problems.length > 0) return problems.map((problem) => `state ${index + 1}: ${problem}`)
  }
  return []
}

/** Whether something must not happen in a state, which needs its time. */
function staysLong({ stays, frames, beacons }: Phase): boolean {
  const isUnseen = (frames ?? 0) > 0 && beacons !== undefined && !beacons.some((each) => each.startsWith('visible'))
  return stays === true || isUnseen
}

type Seen = CaseState & { placements: number; beacons: string[] }

async function readSeen(
  { host, client }: Running,
  page: DrivenPage,
  id: string,
  phase: number,
  session_id: string,
): Promise<Seen> {
  const state = (await page.call('hostState', [id, phase])) as CaseState
  const { items } = await client.beacons.list({ query: { session_id, limit: 200 } })
  const beacons = items
    .filter(({ event }) => event !== 'heartbeat')
    .map(({ event, reason_code, would_bill, metric }) => `${event} ${reason_code}${would_bill ? ` +${metric}` : ''}`)
  return { ...state, placements: host.placements(session_id), beacons }
}

/** Returns what differs, one line each. */
function compare(wanted: Outcome, seen: Seen): string[] {
  const problems: string[] = []
  const differ = (what: string, one: unknown, other: unknown) => {
    if (!isDeepStrictEqual(one, other)) problems.push(`${what}: ${JSON.stringify(other)}, not ${JSON.stringify(one)}`)
  }
  for (const name of ['placements', 'frames', 'wrappers', 'labels'] as const) {
    if (wanted[name] !== undefined) differ(name, wanted[name], seen[name])
  }
  if (wanted.beacons !== undefined) {
    const optional = wanted.optional_beacons ?? []
    differ('beacons', wanted.beacons.toSorted(), seen.beacons.filter((each) => !optional.includes(each)).toSorted())
  }
  const missing = (wanted.events ?? []).filter((each) => !seen.events.includes(each))
  const present = (wanted.no_events ?? []).filter((each) => seen.events.includes(each))
  if (missing.length > 0) problems.push(`events: no ${missing.join(', ')} in ${[...new Set(seen.events)].join(', ')}`)
  if (present.length > 0) problems.push(`events: there is ${present.join(', ')}`)
  for (const [expression, value] of Object.entries(wanted.values ?? {}))
    differ(expression, value, seen.values[expression])
  return problems
}
