/**
 * Runs one parsed command: settings are resolved; signals, and the end of its reader or parent, interrupt
 * it. Its client sends the keys that the settings permit, and notes differences from the contract.
 */

import { CliError, exitCodes, InterruptError } from '#text/cli-error.ts'
import { createOutput, type OutputOptions } from '../output/output.ts'
import { watchParents } from '../process/parents.ts'
import { configAbove, loadSettings } from '../settings/files.ts'
import { resolveSettings, type Settings } from '../settings/settings.ts'
import type { Flags, OutputFormat } from '../settings/table.ts'
import { type Command, type CommandContext, type CommandInput, listOption } from './command.ts'
import { brokenResponse, serviceClient } from './command-client.ts'
import { NoSandboxError, noSandboxFor } from './errors.ts'
import { commandName, type System, withReplaced } from './system.ts'

/** npm forwards the terminal's SIGINT a second time; two signals within this time count as one. */
const maxDoubledSignalMs = 100

interface ParsedCommand {
  command: Command
  input: CommandInput
  common: { settings: Flags; isInteractive: boolean }
}

/** Runs a parsed command and returns its exit code. Throws every failure. */
export async function runParsedCommand(
  { command, input, common }: ParsedCommand,
  given: System,
  output: OutputOptions,
): Promise<number> {
  const system = common.isInteractive ? given : withReplaced(given, { stdin_is_terminal: false })
  const settings = await loadCommandSettings(command, common.settings, system)
  output.format = chooseFormat(settings, command)
  if (output.separated !== undefined && output.format !== 'csv') {
    throw new CliError('usage', 'format_unfit', '--delimiter and --bom are for csv.', 'Add -o csv.')
  }
  const interrupt = new AbortController()
  let onInterrupt = (signal: string) => interrupt.abort(new InterruptError(signal))
  chooseView(output, command, input)
  const out = createOutput(system, output)
  await out.prepare()
  const outlives = command.outlivesTerminal === true && !hasTerminal(given)
  const removeHandler = handleSignals(system, outlives, (signal) => onInterrupt(signal))
  // `start` names the file itself, along with the options taken from it.
  const above = command.name === 'start' ? null : await configAbove(system, common.settings)
  if (above !== null) out.note(`Settings from ${above}`)
  const onParentEnd = (pid: number) => {
    out.note(`The process that started this one (pid ${pid}) has ended.`)
    onInterrupt('SIGHUP')
  }
  const unwatch = system.env.npm_lifecycle_event === undefined ? () => {} : watchParents(system, onParentEnd)
  const command_name = commandName(system)
  try {
    const context: CommandContext = {
      system,
      settings,
      flags: common.settings,
      out,
      command_name,
      signal: interrupt.signal,
      onInterrupt: (handler) => {
        onInterrupt = handler
        // It arrived while the command was being loaded.
        const { reason } = interrupt.signal
        if (reason instanceof InterruptError) handler(reason.signal)
      },
      client: ({ credential } = {}) => {
        if (settings.source.base_url === 'default') throw noSandboxFor(settings)
        return serviceClient(system, settings, credential)
      },
    }
    return await command.run(context, input).finally(() => out.flush())
  } catch (error) {
    // The reader of the output has seen enough (`svc sandbox events | head -1`), and nobody would read a message.
    if (error instanceof InterruptError && error.signal === 'SIGPIPE') return exitCodes.ok.exit_code
    throw await explainError(error, system, settings)
  } finally {
    unwatch()
    removeHandler()
  }
}

/**
 * Returns the format of a command. One for rows that comes from the environment or a file is for lists and reports, and text
 * for everything else.
 * @throws CliError, before anything is done, when -o asks for rows of a command without any
 */
function chooseFormat({ output, source }: Settings, { name, hasRows }: Command): OutputFormat {
  if (hasRows || (output !== 'csv' && output !== 'tsv')) return output
  if (source.output !== 'flag') return 'text'
  const hint = `-o ${output} is for lists and reports. Take -o json.`
  throw new CliError('usage', 'format_unfit', `'${name}' prints no rows.`, hint)
}

function chooseView(output: OutputOptions, { tables = [] }: Command, { options }: CommandInput): void {
  if (output.view === undefined) return
  const columns = options.columns === undefined ? null : listOption(options, 'columns')
  Object.assign(output.view, { wide: options.wide === true, columns, has_tables: tables.length > 1 })
}

/**
 * A command that fails on a response reports what is wrong with that response, and what responds where no sandbox does.
 */
async function explainError(error: unknown, system: System, { base_url, sandbox }: Settings): Promise<unknown> {
  if (error instanceof NoSandboxError || (sandbox === null && !(error instanceof CliError))) {
    const { nameOtherServer } = await import('./other-server.ts')
    const named = await nameOtherServer(error, system, base_url)
    if (named !== error) return named
  }
  if (!(error instanceof TypeError || error instanceof RangeError)) return error
  return (await brokenResponse(system)) ?? error
}

/** Returns the settings of a command. A format specific to this command counts as text for everything else. */
async function loadCommandSettings(command: Command, values: Flags, system: System): Promise<Settings> {
  const flags = { ...values }
  if (command.formats?.includes(flags.output ?? '')) flags.output = 'text'
  return loadSettings(system, flags).catch((error) => {
    if (!command.acceptsInvalidSettings) throw error
    const { output } = flags
    return resolveSettings({
      flags: { output },
      allow_http: flags.allow_http === true,
      environment: {},
      config: {},
      profile: {},
      sandboxes: [],
      root: system.cwd,
    })
  })
}

/**
 * Whether a terminal is on the other side of this process. nohup leaves none to its command, and its SIGHUP that is
 * ignored is lost: Node restores the default of each signal when it starts. On macOS nohup leaves the input.
 */
function hasTerminal({ stdin_is_terminal, stdout, stderr, platform }: System): boolean {
  return stdout.is_terminal || stderr.is_terminal || (stdin_is_terminal && platform !== 'darwin')
}

/**
 * Calls `first` for the first signal; a second one ends the process immediately. With `outlives` the end of a terminal is
 * no signal. Returns a function that undoes it.
 */
function handleSignals(system: System, outlives: boolean, first: (signal: string) => void): () => void {
  let received_at: number | null = null
  return system.onSignal((signal) => {
    if (outlives && signal === 'SIGHUP') return
    const now = system.now()
    if (received_at === null) first(signal)
    else if (now - received_at >= maxDoubledSignalMs) system.exitNow(exitCodes.interrupted.exit_code)
    received_at ??= now
  })
}
