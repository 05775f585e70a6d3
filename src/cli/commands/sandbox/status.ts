/** `svc sandbox status`: the state of the sandbox that commands use, and with --check whether its database holds. */
import { Option } from 'commander'
import type { Command, CommandContext } from '#cli/run/command.ts'
import { commandClient, serviceClient } from '#cli/run/command-client.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import type { System } from '#cli/run/system.ts'
import type { Source } from '#cli/settings/settings.ts'
import type { Locator } from '#cli/settings/state-directory.ts'
import { settingsTable } from '#cli/settings/table.ts'
import { ServiceError, UnreachableError } from '#client/errors.ts'
import type { Integrity, PlaybackInfo, SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { formatDuration } from '#foundation/duration.ts'
import { CliError, exitCodes } from '#text/cli-error.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs, formatValue, plural, timeText } from '#text/text.ts'
import { progressText, unplayedText } from './playback-text.ts'

export const status: Command = {
  name: 'status',
  summary: 'Show the state of the sandbox that commands use',
  details:
    'Shows where it runs, why it was chosen, and whether it is ready. Exit code 5 if --check finds damage, 7 if none is running or it is not ready. To list all: svc sandbox ps',
  options: [new Option('--check', 'also verify the database and the evidence')],
  examples: ['sandbox status', 'sandbox status --check -o json'],
  async run(context, { options }) {
    const { settings, out } = context
    if (settings.sandbox === null && settings.source.base_url === 'default') throw await notRunning(context)
    const state = await readiness(context.system, { url: settings.base_url })
    if (settings.sandbox === null && state === 'no response') throw await notRunning(context)
    const { info, refusal } = await readInfo(context)
    if (settings.sandbox === null && info === null && refusal?.reason_code == null) throw await notRunning(context)
    const isChecked = options.check === true
    const integrity = isChecked && info !== null ? await checkIntegrity(context) : null
    const found: FoundSandbox = { place: findLocation(context, info), state, info }
    out.data({ ...describeFound(context, found), ...(isChecked ? { integrity } : {}) }, (style) =>
      alignPairs(
        [...placePairs(context, found, style), ...infoPairs(info, style), ...integrityPairs(integrity, style)],
        style,
      ),
    )
    printNotes(context, found, refusal)
    if (state !== 'ready' || (isChecked && integrity === null)) return exitCodes.unreachable.exit_code
    return integrity?.ok === false ? exitCodes.expectation.exit_code : exitCodes.ok.exit_code
  },
}

/** What is known of the sandbox. */
interface FoundSandbox {
  place: ReturnType<typeof findLocation>
  state: State
  /** Null when it does not say. */
  info: SandboxInfo | null
}

function describeFound({ settings }: CommandContext, { place, state, info }: FoundSandbox) {
  const { sandbox, source } = settings
  return {
    ...place,
    ready: state === 'ready',
    source: source.base_url,
    ...(sandbox?.command === undefined ? {} : { command: sandbox.command }),
    ...(info?.nodes == null ? {} : { namespace: sandbox?.namespace ?? null, nodes: info.nodes.length }),
    ...reportFields(info),
  }
}

function printNotes({ out }: CommandContext, { state, info }: FoundSandbox, refusal: ServiceError | null): void {
  for (const warning of info?.warnings ?? []) out.note(`warning: ${warning}`)
  if (refusal !== null && state === 'ready') out.note(`${refusal.message} ${refusal.hint ?? ''}`.trim())
}

async function notRunning({ settings, system }: CommandContext): Promise<CliError> {
  const { source, base_url } = settings
  if (source.base_url === 'default') return noSandboxFor(settings)
  const server = await system.describeServer(base_url)
  const taken = server === null ? '' : ` The port is taken by ${server}.`
  const message = `No sandbox is running at ${base_url} (from ${sourceName(source.base_url)}).${taken}`
  return new CliError('unreachable', 'sandbox_missing', message, 'List those of this computer: svc sandbox ps')
}

/** Resolves to what the sandbox says of itself, or to why it does not. One that does not respond says nothing. */
async function readInfo({
  system,
  settings,
  signal,
}: CommandContext): Promise<{ info: SandboxInfo | null; refusal: ServiceError | null }> {
  const options = { signal: AbortSignal.any([signal, AbortSignal.timeout(responseTimeoutMs)]) }
  try {
    return { info: await serviceClient(system, settings).sandbox.info({}, options), refusal: null }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ServiceError) return { info: null, refusal: error }
    if (error instanceof UnreachableError || options.signal.aborted) return { info: null, refusal: null }
    throw error
  }
}

function checkIntegrity({ system, settings, signal, out }: CommandContext): Promise<Integrity> {
  return out.progress('checking the database', serviceClient(system, settings).sandbox.integrity({}, { signal }))
}

type Place = Pick<SandboxInfo, 'url' | 'inspector_url' | 'database' | 'version' | 'pid'>
type Known<T> = { [Name in keyof T]: T[Name] | null }

/** Where it runs: from its locator, or for one of another computer from itself. */
function findLocation({ settings }: CommandContext, info: SandboxInfo | null) {
  const known: Known<Place> | null = settings.sandbox ?? info
  return {
    url: settings.sandbox?.url ?? settings.base_url,
    inspector_url: known?.inspector_url ?? null,
    database: known?.database ?? null,
    pid: known?.pid ?? null,
    version: known?.version ?? null,
    started_at_ms: settings.sandbox?.started_at_ms ?? null,
  }
}

function placePairs(
  { system, settings }: CommandContext,
  { place, state, info }: FoundSandbox,
  style: Style,
): [string, string | null][] {
  const { url, inspector_url, database, pid, version, started_at_ms } = place
  const { source, sandbox } = settings
  const started = started_at_ms ?? null
  return [
    ['state', stateText(state, style)],
    ['URL', style.cyan(url)],
    ['chosen by', settings.is_other_folder ? 'the only one that runs' : sourceName(source.base_url)],
    ['folder', sandbox?.folder ?? null],
    ['inspector', inspector_url === null ? null : style.cyan(inspector_url)],
    ['started by', sandbox?.command === undefined ? null : `svc exec -- ${sandbox.command}`],
    ['database', database === ':memory:' ? 'in memory, lost when it stops' : database],
    ['namespace', sandbox?.namespace ?? null],
    ['nodes', info?.nodes == null ? null : info.nodes.map((node) => `${node.url} (${node.host})`).join('  ')],
    ['started', started === null ? null : `${timeText(started, style)}, ${upTime(system.now() - started)} ago`],
    ['pid', pid === null ? null : String(pid)],
    ['version', version],
    ['projects', listProjects((info ?? sandbox)?.projects ?? [])],
  ]
}

/** A run of suites leaves one for each case that changes settings. */
const maxProjects = 8

function listProjects(projects: readonly { client_id: string }[]): string | null {
  const names = projects.slice(0, maxProjects).map(({ client_id }) => client_id)
  const more = projects.length - names.length
  return [...names, ...(more > 0 ? [`and ${more} more`] : [])].join('  ') || null
}

/** The facts that only the sandbox itself knows; null when it does not say them. */
function reportFields(info: SandboxInfo | null) {
  const { public_url, schema_version, seed, clock, journal, events, playback, warnings } = info ?? {}
  return {
    projects: info?.projects.map(({ client_id }) => client_id) ?? [],
    public_url: public_url ?? null,
    schema_version: schema_version ?? null,
    seed: seed ?? null,
    clock: clock ?? null,
    journal: journal ?? null,
    events: events ?? null,
    playback: playback ?? null,
    warnings: warnings ?? [],
  }
}

function infoPairs(info: SandboxInfo | null, style: Style): [string, string | null][] {
  if (info === null) return []
  const { clock, journal, events, seed } = info
  const isMoved = clock.frozen || clock.offset_ms !== 0
  const stored = ({ size, limit, dropped }: { size: number; limit: number; dropped: number }) =>
    `${size} of at most ${limit}${dropped === 0 ? '' : `, ${dropped} dropped`}`
  return [
    ['seed', seed === null ? null : String(seed)],
    ['clock', isMoved ? `${timeText(clock.now_ms, style)}${clock.frozen ? ', frozen' : ''}` : 'the system time'],
    ['requests', journal.enabled ? stored(journal) : 'not recorded'],
    ['events', stored(events)],
    ...playbackPairs(info.playback ?? null, style),
  ]
}

function playbackPairs(playback: PlaybackInfo | null, style: Style): [string, string | null][] {
  if (playback === null) return []
  const { file, recorded_at_ms, not_recorded, refused } = playback
  return [
    ['plays', file],
    ['recorded', timeText(recorded_at_ms, style)],
    ['played', progressText(playback)],
    ['never asked for', unplayedText(playback)],
    ['not recorded', not_recorded === 0 ? null : plural(not_recorded, 'request')],
    ['refused', refused === 0 ? null : `${plural(refused, 'request')} that the service accepted`],
  ]
}

/** The result of a check, as lines of a name and what was found. */
function integrityPairs(integrity: Integrity | null, style: Style): [string, string | null][] {
  if (integrity === null) return []
  const { database, evidence } = integrity
  const entries = evidence.chains.reduce((sum, chain) => sum + chain.entries, 0)
  const broken = evidence.chains.filter(({ problem }) => problem !== null)
  return [
    ['check', database.ok ? style.green('the database is intact') : null],
    ...database.problems.map((problem): [string, string] => ['check', style.red(problem)]),
    [
      'evidence',
      broken.length === 0
        ? style.green(`${plural(evidence.chains.length, 'chain')} with ${entries} entries hold`)
        : null,
    ],
    ...broken.map(({ client_id, problem }): [string, string] => [
      'evidence',
      style.red(`${client_id}: ${formatValue(problem)}`),
    ]),
  ]
}

/** A sandbox on this computer responds immediately or not at all. */
export const responseTimeoutMs = 2_000

/** `not ready`: it responds with a refusal, for example while it has lost its database. */
export type State = 'ready' | 'not ready' | 'no response'

/** A probe needs no admin token, wherever the sandbox listens. */
export async function readiness(system: System, { url }: Pick<Locator, 'url'>): Promise<State> {
  const client = commandClient(system, { base_url: url, timeout_ms: responseTimeoutMs, validate: false })
  return client.health.ready().then(
    () => 'ready',
    (error: unknown) => (error instanceof ServiceError ? 'not ready' : 'no response'),
  )
}

export function stateText(state: State, style: Style): string {
  return state === 'ready' ? style.green(state) : style.red(state)
}

/** `3s`, `31m`, `5h`, `2d`: in the largest unit that is not zero. */
export function upTime(span_ms: number): string {
  return span_ms < 1_000 ? '0s' : formatDuration(span_ms)
}

/** Returns where the base URL comes from, by the name of its flag or variable. */
function sourceName(source: Source): string {
  if (source === 'flag') return '--base-url'
  if (source === 'environment') return settingsTable.base_url.env
  return source === 'sandbox' ? 'this folder' : source
}
