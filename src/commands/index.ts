/**
 * Every command of `svc` in the order of its help: the only place that names the commands of the first level. A module is
 * loaded when its command is called, so that `svc --help` stays fast: only types are imported here.
 */
import type { Command, LazyCommand, Noun } from '../cli/run/command.ts'

export const sections = ['Sandbox', 'API v1', 'Look inside', 'Set up'] as const
type Section = (typeof sections)[number]

export interface CommandEntry extends LazyCommand {
  section: Section
  /** At most 26 characters, for `svc --help`. */
  brief: string
}

export const commands: readonly CommandEntry[] = [
  entry('start', 'Sandbox', 'start the emulator here', async () => (await import('./sandbox/start.ts')).start),
  entry('sandbox', 'Sandbox', 'start, stop, status, reset', async () => (await import('./sandbox/index.ts')).sandbox),
  entry('health', 'Sandbox', 'check that it responds', async () => (await import('./sandbox/status.ts')).health),
  entry('exec', 'Sandbox', 'run CMD with a new sandbox', async () => (await import('./exec.ts')).exec),
  entry('env', 'Sandbox', 'print SVC_* variables', async () => (await import('./exec.ts')).env),
  entry(
    'placements',
    'API v1',
    'create, list, explain',
    async () => (await import('./placements/index.ts')).placements,
  ),
  entry('jobs', 'API v1', 'create slots to poll', async () => (await import('./jobs.ts')).jobs),
  entry('decisions', 'API v1', 'poll a slot', async () => (await import('./decisions.ts')).decisions),
  entry('browser', 'API v1', 'get an activation token', async () => (await import('./browser.ts')).browser),
  entry('consent', 'API v1', 'store, withdraw, show', async () => (await import('./consent.ts')).consent),
  entry('projects', 'API v1', 'settings, runtime config', async () => (await import('./projects.ts')).projects),
  entry('keys', 'Sandbox', 'list, create, revoke', async () => (await import('./keys.ts')).keys),
  entry('tokens', 'Sandbox', 'access for a team', async () => (await import('./tokens/index.ts')).tokens),
  entry('audit', 'Sandbox', 'who changed what', async () => (await import('./tokens/index.ts')).audit),
  entry('namespaces', 'Sandbox', 'of a shared store', async () => (await import('./tokens/index.ts')).namespaces),
  entry('open', 'Sandbox', 'the inspector, in a browser', async () => (await import('./docs.ts')).open),
  entry('beacons', 'API v1', 'send and list beacons', async () => (await import('./beacons/index.ts')).beacons),
  entry('trigger', 'API v1', 'play a whole turn', async () => (await import('./trigger/index.ts')).trigger),
  entry('render', 'API v1', 'open a hosted frame', async () => (await import('./render.ts')).render),
  entry('requests', 'Look inside', 'the request journal', async () => (await import('./requests/index.ts')).requests),
  entry('events', 'Look inside', 'follow all events', async () => (await import('./events.ts')).events),
  entry(
    'callbacks',
    'Look inside',
    'listen, list, resend',
    async () => (await import('./callbacks/index.ts')).callbacks,
  ),
  entry('billing', 'Look inside', 'what would be billed', async () => (await import('./billing.ts')).billing),
  entry('evidence', 'Look inside', 'verify, export, list', async () => (await import('./evidence/index.ts')).evidence),
  entry(
    'contract',
    'Look inside',
    'show it, check a service',
    async () => (await import('./contract/index.ts')).contract,
  ),
  entry('openapi', 'Look inside', 'the OpenAPI document', async () => (await import('./contract/openapi.ts')).openapi),
  entry('docs', 'Look inside', 'guides, reference, codes', async () => (await import('./docs.ts')).docs),
  entry('doctor', 'Look inside', 'find problems', async () => (await import('./doctor.ts')).doctor),
  entry('qa', 'Look inside', 'scripted QA: run, list', async () => (await import('./qa/index.ts')).qa),
  entry('mcp', 'Set up', 'tools for coding agents', async () => (await import('./sandbox/mcp.ts')).mcp),
  entry('init', 'Set up', 'a project from a template', async () => (await import('./scaffold.ts')).scaffold),
  entry('scaffold', 'Set up', 'the same as init', async () => (await import('./scaffold.ts')).scaffold),
  entry('config', 'Set up', 'profiles and settings', async () => (await import('./config.ts')).config),
  entry('completion', 'Set up', 'complete in your shell', async () =>
    (await import('./completion.ts')).completion(commands),
  ),
]

function entry(name: string, section: Section, brief: string, load: () => Promise<Noun | Command>): CommandEntry {
  return { name, section, brief, load: async () => ({ ...(await load()), name }) }
}
