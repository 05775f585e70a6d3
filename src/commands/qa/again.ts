/** Running suites again: the cases that failed last (`--last-failed`), and on every change of a file (`--watch`). */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { ownControl } from '../../cli/output/printable.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Host } from '../../cli/run/host.ts'
import type { Session } from '../../cli/run/session.ts'
import { writeJson } from '../../cli/settings/files.ts'
import { readJson } from '../../cli/settings/schemas.ts'
import { stateDirectory } from '../../cli/settings/state-directory.ts'
import type { CaseResult } from '../../qa/result.ts'

/** The last run in a directory. */
const LastRun = z.object({
  directory: z.string(),
  /** The suites that were named; none for every built-in one. */
  suites: z.array(z.string()),
  /** Ids of the cases that failed. */
  failed: z.array(z.string()),
})
type LastRun = z.infer<typeof LastRun>

/** Directories whose last run is kept, the latest first. */
const keptRuns = 50

/** Returns the last run in the working directory. Throws CliError when there is none. */
export async function lastRun(host: Host): Promise<LastRun> {
  const found = (await runs(host)).find(({ directory }) => directory === host.cwd)
  if (found !== undefined) return found
  const hint = 'Run the suites first: svc qa run --fresh'
  throw new CliError('usage', 'last_run_missing', `There was no run in ${host.cwd} yet.`, hint)
}

/** Stores what failed. Of a run of `again`, the cases that failed last, those that did not run again stay. */
export async function storeRun(
  host: Host,
  suites: readonly string[],
  cases: readonly CaseResult[],
  again: LastRun | null,
): Promise<void> {
  const ran = new Set(cases.filter(({ outcome }) => outcome === 'passed' || outcome === 'failed').map(({ id }) => id))
  const failed = cases.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
  const left = again?.failed.filter((id) => !ran.has(id)) ?? []
  const run: LastRun = {
    directory: host.cwd,
    suites: [...(again?.suites ?? suites)],
    failed: [...new Set([...failed, ...left])],
  }
  // A run needs no state directory: where none can be written, the next one just cannot begin with its failures.
  const others = (await runs(host).catch(() => [])).filter(({ directory }) => directory !== host.cwd)
  await writeJson(pathOf(host), { runs: [run, ...others].slice(0, keptRuns) }).catch(() => {})
}

async function runs(host: Host): Promise<LastRun[]> {
  const file = await readJson(pathOf(host), z.object({ runs: z.array(LastRun) }))
  return file?.runs ?? []
}

function pathOf(host: Host): string {
  return join(stateDirectory(host), 'qa-runs.json')
}

/** Time between two looks at the files. */
const look_ms = 200
const clearScreen = () => ownControl('2J') + ownControl('H')

/**
 * Calls `run` now, and again whenever one of the suite files among `names` has changed, until an interrupt. What is wrong
 * in a suite is printed, and the next change awaited. Returns the exit code.
 */
export async function runOnChange(
  { host, out, command_name }: Session,
  names: readonly string[],
  interrupt: AbortSignal,
  run: () => Promise<number>,
): Promise<number> {
  const files = names.filter((name) => /\.ya?ml$/.test(name))
  if (files.length === 0) {
    const hint = `Name one: ${command_name} qa run shop.yaml --watch`
    throw new CliError('usage', 'watch_nothing', '--watch needs a suite file: built-in suites do not change.', hint)
  }
  const read = () => files.map((file) => textOf(resolve(host.cwd, file))).join('\0')
  for (;;) {
    const before = read()
    if (host.stdout.is_terminal) host.stdout.write(clearScreen())
    const code = await run().catch((error: unknown) => {
      if (!(error instanceof CliError) || !['suite_invalid', 'no_case'].includes(error.code)) throw error
      const { category, code, message, hint } = error
      out.failure({ category, code, reason_code: null, message, hint, request_id: null })
      return null
    })
    if (interrupt.aborted) return code ?? 0
    out.note(`watching ${files.join(', ')}: a change runs it again; press Ctrl-C to end`)
    while (read() === before) {
      await sleep(look_ms, undefined, { signal: interrupt }).catch(() => {})
      if (interrupt.aborted) return 0
    }
  }
}

/** Returns the text of a file; none of one that is missing, as while an editor replaces it. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
