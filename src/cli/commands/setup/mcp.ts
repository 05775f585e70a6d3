/** `svc agent mcp`: tools, resources and prompts for coding agents, over stdin and stdout. */
import { Option } from 'commander'
import type { Command, CommandContext } from '#cli/run/command.ts'
import { serviceClient } from '#cli/run/command-client.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import { loadSettings } from '#cli/settings/files.ts'
import { permittedControlToken, permittedSecretKey, type Settings } from '#cli/settings/settings.ts'
import {
  type Locator,
  ownProcess,
  removeLocator,
  stateDirectory,
  stateProblem,
  writeLocator,
} from '#cli/settings/state-directory.ts'
import { startOnFreePort } from '#commands/sandbox/emulator.ts'
import { readDemandOptions } from '#commands/sandbox/start.ts'
import type { SandboxAccess } from '#mcp/access.ts'
import { CliError } from '#text/cli-error.ts'
import { onFirstInterrupt } from '../exec.ts'
import { localAccess } from './local-access.ts'

export const mcp: Command = {
  name: 'mcp',
  summary: 'Serve tools for coding agents, over stdin and stdout',
  details: [
    'A server of the Model Context Protocol: tools to create and explain placements, read beacons and requests, run QA, judge requests, lint, bundle a turn, reconcile counts, compare recordings, try hosts, set faults, clock and consent; the documentation and QA suites as resources; prompts for an integration and for "why was this not billed". Keys and tokens are redacted.',
    'Uses the sandbox of this folder that is running when a tool is called, or the one of --base-url. With --start, when the folder has none, it starts one in memory, with the demand of its settings, which ends with the agent; the sandboxes of other folders are left alone. Nothing but the protocol is written to stdout; it ends when stdin ends.',
    'Its tools read and write files below the current folder only. Every sandbox also serves it over HTTP at /_sandbox/mcp, without the tools that need your files or a browser.',
  ].join('\n\n'),
  options: [
    new Option('--start', 'start a sandbox in memory when this folder has none'),
    new Option(
      '--tools <which>',
      'usual: ten tools with short schemas; all: each with every field and the schema of its result',
    )
      .choices(['usual', 'all'])
      .default('usual'),
  ],
  examples: ['agent mcp', 'agent mcp --start'],
  async run(context, { options }) {
    const { system, out, command_name } = context
    const interrupt = onFirstInterrupt(context)
    if (system.stdin_is_terminal) {
      out.note(
        `Waiting for messages from an agent, which normally starts this command itself: ${command_name} docs agents.`,
      )
    }
    const own = options.start === true ? createOwnSandbox(context) : null
    try {
      await own?.startIfNone(context.settings)
      const { serveStdio } = await import('#mcp/stdio.ts')
      await serveStdio(system, sandboxAccess(context, own, options.tools === 'all' ? 'all' : 'usual'), interrupt)
    } finally {
      await own?.close()
    }
    return 0
  },
}

/** A sandbox that this server starts when its folder has none. */
interface OwnSandbox {
  /** Starts one that other commands find too. Resolves to whether it did: not when a service is named, or the folder has one. */
  startIfNone(settings: Settings): Promise<boolean>
  close(): Promise<void>
}

/** Starts at most one at a time: the one of another agent in the folder can end at any time, and then its calls come here. */
function createOwnSandbox(context: CommandContext): OwnSandbox {
  let starting: Promise<{ close(): Promise<void> }> | null = null
  return {
    async startIfNone({ source, is_other_folder }) {
      if (source.base_url !== 'default' && !is_other_folder) return false
      starting ??= startListed(context)
      await starting.catch((error) => {
        starting = null
        throw error
      })
      return true
    },
    async close() {
      await (await starting)?.close()
    },
  }
}

async function startListed(context: CommandContext): Promise<{ close(): Promise<void> }> {
  const { system, out } = context
  // The usual port helps an app that has it written down; an agent asks for the address.
  const options = { ephemeral: true, ...(await readDemandOptions(context)) }
  const { sandbox } = await startOnFreePort(context, options).catch((error) => {
    if (!(error instanceof CliError) || error.code !== 'port_in_use') throw error
    return startOnFreePort(context, { ...options, port: 0 })
  })
  const home = stateDirectory(system)
  const { url, inspector_url, database, version, projects } = sandbox
  const locator: Locator = {
    ...{ url, inspector_url, database, version, projects, ...(await ownProcess(system)) },
    started_at_ms: system.now(),
  }
  if (stateProblem(home) === null) await writeLocator(home, locator)
  out.note(`Started a sandbox in memory at ${url}.`)
  return {
    async close() {
      await removeLocator(home, locator)
      await sandbox.close()
    },
  }
}

function sandboxAccess(context: CommandContext, own: OwnSandbox | null, tools: SandboxAccess['tools']): SandboxAccess {
  const { system, flags, command_name } = context
  /** Read again on each call: a sandbox may have been started or stopped since. */
  const read = async (): Promise<Settings> => {
    const current = await loadSettings(system, flags)
    return (await own?.startIfNone(current)) ? loadSettings(system, flags) : current
  }
  const settings = async (): Promise<Settings> => {
    const current = await read()
    if (current.source.base_url !== 'default') return current
    const hint = `Start one in another terminal: ${command_name} start. Or let this server do it: ${command_name} agent mcp --start.`
    throw noSandboxFor(current, hint)
  }
  return {
    command_name,
    tools,
    mayWrite: true,
    client: async () => serviceClient(system, await settings()),
    async clientId() {
      const { client_id } = await settings()
      if (client_id !== null) return client_id
      throw new CliError('usage', 'client_id_missing', 'No project is set.', 'Set SVC_CLIENT_ID, or give client_id.')
    },
    async qaTarget() {
      const current = await settings()
      const { base_url, client_id, origin, publishable_key, sandbox } = current
      const keys = { secret: permittedSecretKey(current), publishable: publishable_key }
      if ([keys.secret, keys.publishable].some((key) => /^[sp]k_live_/.test(key ?? ''))) {
        const message = `Cases would run against ${base_url} with a production key.`
        throw new CliError('usage', 'production_key_refused', message, 'Use a test key.')
      }
      const kind = sandbox === null ? 'service' : 'sandbox'
      return { kind, base_url, client_id, origin, keys, admin_token: permittedControlToken(current) }
    },
    local: localAccess(context, read),
    now: () => system.now(),
    randomText: (length) => system.randomText(length),
  }
}
