/** `svc exec -- CMD...` runs a program against its own sandbox. */

import { Argument, Option } from 'commander'
import { flagValues } from '#cli/endpoint/flags.ts'
import { codeOfSignal, type ProcessGroup, startGroup } from '#cli/process/process-group.ts'
import type { TrustedBundles } from '#cli/process/trust.ts'
import type { Command, CommandContext } from '#cli/run/command.ts'
import { isSandboxAt } from '#cli/run/command-client.ts'
import type { System } from '#cli/run/system.ts'
import { toEnvironment } from '#cli/settings/settings.ts'
import {
  mergeStartOptions,
  type StartOptionName,
  type StartOptions,
  startEnvironment,
  startFlags,
} from '#cli/settings/start-options.ts'
import {
  ownProcess,
  removeLocator,
  runningSandboxes,
  stateDirectory,
  stateProblem,
  writeLocator,
} from '#cli/settings/state-directory.ts'
import type { PermittedKey } from '#client/permitted-key.ts'
import { keyOfStarted } from '#client/permitted-key.ts'
import { pageOrigin } from '#contract/origins.ts'
import { shownCommand } from '#foundation/redaction.ts'
import { CliError } from '#text/cli-error.ts'
import { startOnFreePort } from './sandbox/emulator.ts'

/** Options of `start` that make sense for a sandbox in memory, on a free port. */
const startOptions = new Set<StartOptionName>([
  'seed',
  'rate_limit',
  'decision_latency',
  'scenario',
  'strict',
  'playback',
  'fallback',
  'max_age',
  'strict_age',
  'overrides',
  'tls',
  'tls_cert',
  'tls_key',
])
const flags = new Map<string, Option>([...startFlags()].filter(([name]) => startOptions.has(name)))

export const exec: Command = {
  name: 'exec',
  summary: 'Run a command against a fresh sandbox, and end both',
  details: [
    'Starts a sandbox in memory on a free port, sets SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY, SVC_PUBLISHABLE_KEY and SVC_ORIGIN, and runs the command after --. It adds loopback to NO_PROXY and no_proxy. With TLS it sets the variables of Node, curl, Python, Ruby and Go that make them accept the certificate beside their own.',
    "The exit code is the command's own, or 128 + n when signal n ended it. SIGINT, SIGTERM and SIGHUP reach the command once; it is killed if it has not ended 5 s later. Processes that it leaves behind are ended too, except on Windows.",
    'While it runs, svc sandbox ps lists its sandbox, and other commands use it when it is the only one. Inside another svc exec, or a command under svc observe, it joins the sandbox that is there; --isolated starts another.',
  ].join('\n\n'),
  arguments: [new Argument('[-- command...]', 'the command, with its arguments')],
  usualFlags: '--seed --rate-limit --decision-latency --scenario --playback --overrides --tls --strict --isolated',
  options: [
    ...flags.values(),
    new Option('--isolated', 'start another sandbox inside a surrounding svc exec or svc observe'),
  ],
  passesThrough: true,
  examples: ['exec -- npm test', 'exec --seed 1 -q -- node --test'],
  async run(context, { options, args, passthrough }) {
    const words = args.flat()
    if (!passthrough?.length || words.length > 0) {
      throw commandMissing(`svc exec -- ${words.length === 0 ? 'npm test' : shownCommand(words)}`, context.system)
    }
    const interrupt = onFirstInterrupt(context)
    const given = flagValues(flags, options)
    const surrounding = options.isolated === true ? null : await surroundingSandbox(context.system)
    if (surrounding === null) {
      return runWithSandbox(
        context,
        passthrough,
        { interrupt, options: given, namesInspector: true },
        ({ group }) => group.ended,
      )
    }
    context.out.note(`joins the sandbox of the surrounding command, ${surrounding}, for ${shownCommand(passthrough)}`)
    const unused = Object.keys(given).map((name) => flags.get(name)?.long ?? name)
    if (unused.length > 0)
      context.out.note(`Without effect there: ${unused.join(', ')}. For a sandbox of its own: --isolated`)
    return runProgram(context.system, passthrough, { env: context.system.env, interrupt }, ({ group }) => group.ended)
  },
}

export function commandMissing(example: string, { platform }: Pick<System, 'platform'>): CliError {
  // The .ps1 that npm writes for a command receives its arguments without the first --.
  const inPowerShell =
    platform === 'win32' ? `. PowerShell drops --, so there: ${example.replace(' -- ', " '--' ")}` : ''
  return new CliError(
    'usage',
    'command_missing',
    'Write the command to run after --.',
    `Try: ${example}${inPowerShell}`,
  )
}

/** Returns a signal that the first SIGINT, SIGTERM, SIGHUP or SIGPIPE aborts, with its name as the reason. */
export function onFirstInterrupt(context: CommandContext): AbortSignal {
  const interrupt = new AbortController()
  context.onInterrupt((signal) => interrupt.abort(signal))
  return interrupt.signal
}

/** A program that runs against its own sandbox. */
export interface SandboxProgram {
  base_url: string
  secret_key: PermittedKey
  group: ProcessGroup
  /** The program's exit code; null while it runs. */
  exitCode(): number | null
}

interface ProgramOptions {
  interrupt: AbortSignal
  /** Whether an interrupt ends the program. Default true. */
  forwards?: boolean
  options?: StartOptions
  /** Whether the address of the inspector is printed. Default false. */
  namesInspector?: boolean
}

/** Contains the URL of the sandbox that `svc exec` or `svc observe` started, for a `svc exec` inside its command. */
const surroundingVariable = 'SVC_EXEC'
/** How long the surrounding sandbox may take to respond: on a busy computer, it must not be taken for one that has ended. */
const surroundingTimeoutMs = 10_000

/**
 * Returns the URL of the sandbox that surrounds this command; null when there is none, when SVC_BASE_URL has been set
 * to another service since, and when it has ended.
 */
async function surroundingSandbox(system: System): Promise<string | null> {
  const url = system.env[surroundingVariable]
  if (!url || system.env.SVC_BASE_URL !== url) return null
  return (await isSandboxAt(system, url, surroundingTimeoutMs)) ? url : null
}

/**
 * Starts a sandbox in memory and a program with its SVC_* variables, and ends both when `use` is done. Returns what
 * `use` returns; if an interrupt arrived before the program started, the code of that signal.
 */
export async function runWithSandbox(
  context: CommandContext,
  words: readonly string[],
  { interrupt, forwards = true, options = {}, namesInspector = false }: ProgramOptions,
  use: (program: SandboxProgram) => Promise<number>,
): Promise<number> {
  const { system, out } = context
  const given = mergeStartOptions(options, startEnvironment(system.env, startOptions))
  const { sandbox, certificate } = await startOnFreePort(context, { ...given, port: 0, ephemeral: true })
  let bundles: TrustedBundles | null = null
  let unlist = async () => {}
  try {
    if (certificate !== null) {
      const { trustForPrograms } = await import('#cli/process/trust.ts')
      bundles = await trustForPrograms(certificate, system.env)
      for (const note of bundles.notes) out.note(`warning: ${note}`)
    }
    unlist = await listAsExec(context, { sandbox, certificate }, shownCommand(words))
    out.note(`sandbox ${sandbox.url} for ${shownCommand(words)}`)
    if (namesInspector) out.note(`inspector ${sandbox.inspector_url}`)
    if (interrupt.aborted) return codeOfSignal(interrupt.reason)
    const origin = pageOrigin(sandbox.projects[0]?.allowed_origins ?? []) ?? null
    const variables = {
      ...toEnvironment({ base_url: sandbox.url, ...sandbox.keys, origin }),
      ...bundles?.variables,
      ...withoutProxy(system.env),
    }
    const env = { ...system.env, ...variables, [surroundingVariable]: sandbox.url }
    const secret_key = keyOfStarted(sandbox)
    return await runProgram(system, words, { env, interrupt, forwards }, (program) =>
      use({ base_url: sandbox.url, secret_key, ...program }),
    )
  } finally {
    await sandbox.close()
    await unlist()
    bundles?.remove()
  }
}

/** Starts a program, and ends it when `use` is done. Returns what `use` returns. */
async function runProgram(
  system: System,
  words: readonly string[],
  { env, interrupt, forwards = true }: Pick<ProgramOptions, 'interrupt' | 'forwards'> & Pick<System, 'env'>,
  use: (program: Pick<SandboxProgram, 'group' | 'exitCode'>) => Promise<number>,
): Promise<number> {
  if (interrupt.aborted) return codeOfSignal(interrupt.reason)
  const group = await startGroup(system, words, env)
  if (forwards) {
    const end = () => group.end(interrupt.reason)
    if (interrupt.aborted) end()
    else interrupt.addEventListener('abort', end)
  }
  let exit_code: number | null = null
  let isOver = false
  const over = (code: number | null) => {
    exit_code = code
    isOver = true
  }
  group.ended.then(over, () => over(null))
  try {
    return await use({ group, exitCode: () => exit_code })
  } finally {
    if (!isOver) group.end('SIGTERM')
    await group.ended.catch(() => {})
  }
}

/**
 * Lets other commands find the sandbox while its command runs. Without a writable state directory they need its
 * --base-url. Resolves to a function that undoes it.
 */
async function listAsExec(
  { system }: CommandContext,
  { sandbox, certificate }: Awaited<ReturnType<typeof startOnFreePort>>,
  command: string,
): Promise<() => Promise<void>> {
  const { url, inspector_url, database, pid, version, projects } = sandbox
  const home = stateDirectory(system)
  const isListed = (await runningSandboxes(home, system)).some((other) => other.pid === pid)
  if (isListed || stateProblem(home) !== null) return async () => {}
  const process = await ownProcess(system)
  await writeLocator(home, {
    ...{ url, inspector_url, database, version, projects, command, ...process },
    ...(certificate === null ? {} : { certificate: certificate.path }),
    started_at_ms: system.now(),
  })
  return () => removeLocator(home, process)
}

const loopbackNames = ['localhost', '127.0.0.1', '::1']

/** Returns the variables that keep programs in any language from sending loopback to a proxy, with what they had. */
function withoutProxy(env: System['env']): Record<string, string> {
  const add = (value = '') => {
    const names = value.split(/[\s,]+/).filter((name) => name !== '')
    return [...names, ...loopbackNames.filter((name) => !names.includes(name) && !names.includes('*'))].join(',')
  }
  return { NO_PROXY: add(env.NO_PROXY ?? env.no_proxy), no_proxy: add(env.no_proxy ?? env.NO_PROXY) }
}
