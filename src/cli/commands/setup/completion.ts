/** `svc config completion SHELL`: the command tree as a shell script. */

import { Argument, Option } from 'commander'
import { completionScripts } from '#cli/completion/scripts.ts'
import { listCompletionSlots, type NameSource, nameSources } from '#cli/completion/slots.ts'
import type { Command, CommandContext, CommandInput, LazyCommand } from '#cli/run/command.ts'
import { commandTree } from '#cli/run/help.ts'
import { profilesPath } from '#cli/settings/files.ts'
import { ProfilesFile, readJson } from '#cli/settings/schemas.ts'
import { shellMediaType } from '#foundation/http.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { readTopics } from '#mcp/resources.ts'
import { CliError } from '#text/cli-error.ts'
import { scenariosOfPackage } from '../sandbox/scenarios.ts'

const shells = Object.keys(completionScripts)

/** Returns the command that completes `commands`. */
export function completion(commands: readonly LazyCommand[]): Command {
  return {
    name: 'completion',
    summary: 'Print the completion script for a shell',
    details:
      'Completes commands, flags and their values, files, and names: profiles, scenarios, suites, topics, and items in the current sandbox, such as slots and keys. The first lines of the script say how to install it. It completes svc and svc-sandbox, not npx --no svc-sandbox.',
    arguments: [new Argument('[shell]', 'your shell').choices(shells)],
    options: [new Option('--names <source>', 'print the names that a script requests').choices(nameSources)],
    acceptsInvalidSettings: true,
    examples: ['config completion bash', 'config completion fish'],
    async run(context, { args, options }: CommandInput<{ names?: NameSource }>) {
      const { out } = context
      if (options.names !== undefined) {
        const names = await nameReaders[options.names](context)
        out.list(names, names, () => names)
        return 0
      }
      if (args[0] === undefined) {
        const hint = `Give one of ${shells.join(', ')}: svc config completion bash`
        throw new CliError('usage', 'argument_missing', 'The shell is missing.', hint)
      }
      const places = listCompletionSlots(await commandTree(commands))
      const script = findEntry(completionScripts, args[0])!(places)
      out.document(`${script.join('\n')}\n`, shellMediaType)
      return 0
    },
  }
}

/** Reads the names of each source. Without a sandbox there are no names, and Tab completes nothing. */
const nameReaders: Readonly<Record<NameSource, (context: CommandContext) => Promise<string[]>>> = {
  profiles: async ({ system }) => Object.keys((await readJson(profilesPath(system), ProfilesFile))?.profiles ?? {}),
  topics: async () => readTopics().flatMap(({ topic }) => [topic, ...topic.split('/').slice(1)]),
  scenarios: async () => scenariosOfPackage().map(({ name }) => name),
  suites: async () => (await import('#qa/suite/builtin.ts')).builtinNames(),
  snapshots: ofSandbox(async ({ snapshots }, call) => (await snapshots.list({}, call)).items.map(({ name }) => name)),
  projects: ofSandbox(async ({ projects }, call) =>
    (await projects.list({ query: newest }, call)).items.map(({ client_id }) => client_id),
  ),
  slots: ofSandbox(async ({ placements }, call) =>
    (await placements.list({ query: newest }, call)).items.map(({ slot_id }) => slot_id),
  ),
  requests: ofSandbox(async ({ requests }, call) =>
    (await requests.list({ query: newest }, call)).items.map(({ request_id }) => request_id),
  ),
  keys: ofSandbox(async ({ keys }, call, { client_id }) => {
    if (client_id === null) return []
    const { items } = await keys.list({ params: { client_id }, query: newest }, call)
    return items.flatMap(({ key_id, revoked_at_ms }) => (revoked_at_ms === null ? [key_id] : []))
  }),
  faults: ofSandbox(async ({ faults }, call) => (await faults.list({}, call)).items.map(({ fault_id }) => fault_id)),
  tokens: ofSandbox(async ({ tokens }, call) =>
    (await tokens.list({}, call)).items.flatMap(({ name, revoked_at_ms }) => (revoked_at_ms === null ? [name] : [])),
  ),
}

/** How many identifiers Tab shows: older ones are rarely meant. */
const newest = { limit: 20 } as const

/** Returns a source that reads its names from the sandbox in use, and has none without one. */
function ofSandbox(
  read: (
    client: ReturnType<CommandContext['client']>,
    call: { signal: AbortSignal },
    settings: CommandContext['settings'],
  ) => Promise<string[]>,
): (context: CommandContext) => Promise<string[]> {
  return async ({ settings, client, signal }) => (settings.sandbox === null ? [] : read(client(), { signal }, settings))
}
