/** Parses a command line, prints help or runs the command, and reports every failure. */
import type { OutputOptions } from '../output/output.ts'
import { guardedHost, oneLine } from '../output/printable.ts'
import type { View } from '../output/style.ts'
import { type ColorChoice, outputFormats } from '../settings/table.ts'
import type { AnyCommand } from './command.ts'
import { CliError, exitCodes, type Failure } from './errors.ts'
import type { Host } from './host.ts'
import { type CommonOptions, parseCommandLine } from './parser.ts'
import { commandName, version } from './program-info.ts'

const defaultColumns = 80

/** Runs a command line and returns its exit code. Schemas, settings and the client are loaded when it is understood. */
export async function runCommand(
  commands: readonly AnyCommand[],
  rootHelp: () => string,
  args: readonly string[],
  bare: Host,
): Promise<number> {
  const host = guardedHost(bare)
  const view = { time: null, now_ms: host.now(), wide: false, columns: null, left_out: new Set() } as View
  const output: OutputOptions = { format: 'text', quiet: false, color: 'auto', isPaged: false, view }
  try {
    const [first, ...rest] = args
    if (first === 'help' && (await printTopic(rest[0], host))) return exitCodes.ok.exit_code
    const parsed = await parseCommandLine(commands, withoutPseudoCommand(first, rest) ?? args)
    Object.assign(output, outputOptions(parsed.common, host.env))
    view.time = parsed.common.time
    if (parsed.kind === 'invalid') throw parsed.error
    if (parsed.kind === 'version') {
      host.stdout.write(`${version}\n`)
      return exitCodes.ok.exit_code
    }
    if (parsed.kind === 'help') {
      const stream = parsed.isRequested ? host.stdout : host.stderr
      stream.write(parsed.words.length === 0 ? rootHelp() : await helpOf(commands, parsed.words, host, output.color))
      return parsed.isRequested ? exitCodes.ok.exit_code : exitCodes.usage.exit_code
    }
    const { runSession } = await import('./session.ts')
    return await runSession(parsed, host, output)
  } catch (error) {
    const failure = await describe(error)
    const hint = failure.hint?.replace(/\bsvc(?= [a-z])/g, commandName(host)) ?? null
    const { createOutput } = await import('../output/output.ts')
    createOutput(host, output).failure({ ...failure, hint })
    return exitCodes[failure.category].exit_code
  }
}

/** Returns the flag of `svc help ...` and of `svc version`; null for any other command line. */
function withoutPseudoCommand(first: string | undefined, rest: readonly string[]): string[] | null {
  if (first === 'version') return [...rest, '--version']
  return first === 'help' ? [...rest, '--help'] : null
}

async function printTopic(name: string | undefined, host: Host): Promise<boolean> {
  const { topics } = await import('./help.ts')
  const topic = Object.hasOwn(topics, name ?? '') ? topics[name ?? ''] : undefined
  if (topic === undefined) return false
  const { styleOf } = await import('../output/style.ts')
  const lines = await topic(styleOf(host.stdout, 'auto', host.env))
  host.stdout.write(`${lines.join('\n')}\n`)
  return true
}

async function helpOf(
  commands: readonly AnyCommand[],
  words: readonly string[],
  host: Host,
  color: ColorChoice,
): Promise<string> {
  const [{ commandTree }, { commandHelp }, { styleOf }] = await Promise.all([
    import('./command-tree.ts'),
    import('./help.ts'),
    import('../output/style.ts'),
  ])
  const tree = await commandTree(commands.filter(({ name }) => name === words[0]))
  return commandHelp(tree, words, {
    command_name: commandName(host),
    columns: host.stdout.columns ?? defaultColumns,
    style: styleOf(host.stdout, color, host.env),
  })
}

/** The output that the command line and the environment ask for. The settings files may still change it. */
function outputOptions(common: CommonOptions, env: Host['env']): Omit<OutputOptions, 'view'> {
  const wanted = common.settings.output ?? env.SVC_OUTPUT
  const { quiet, color, isInteractive, isPaged, filter } = common
  return {
    format: outputFormats.find((format) => format === wanted) ?? 'text',
    quiet,
    color,
    isPaged: isInteractive && isPaged,
    filter: filter ?? null,
  }
}

/** A usage error needs neither the client nor the contract. */
async function describe(error: unknown): Promise<Failure> {
  if (error instanceof CliError) {
    const { category, code, message, hint } = error
    // Only the problems of a suite are lines of their own: elsewhere a line end is of a name or a value.
    const text = code === 'suite_invalid' ? message : oneLine(message)
    return { category, code, reason_code: null, message: text, hint: hint && oneLine(hint), request_id: null }
  }
  const { describeFailure } = await import('./failure.ts')
  return describeFailure(error)
}
