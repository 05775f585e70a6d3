/** Every command, in help order. Each is loaded only when it is called; nothing heavy may be imported here. */
import type { Command, CommandGroup } from '../cli/run/command.ts'

export const sections = ['Sandbox', 'API v1', 'Look inside', 'Set up'] as const

export interface CommandEntry {
  name: string
  section: (typeof sections)[number]
  /** At most 26 characters, for `svc --help`. */
  brief: string
  load(): Promise<Command | CommandGroup>
}

export const commands: readonly CommandEntry[] = [
  {
    name: 'start',
    section: 'Sandbox',
    brief: 'start the emulator here',
    load: async () => (await import('./sandbox/index.ts')).start,
  },
  {
    name: 'sandbox',
    section: 'Sandbox',
    brief: 'start, stop, status, reset',
    load: async () => (await import('./sandbox/index.ts')).sandbox,
  },
  {
    name: 'health',
    section: 'Sandbox',
    brief: 'whether it answers',
    load: async () => (await import('./health.ts')).health,
  },
  {
    name: 'exec',
    section: 'Sandbox',
    brief: 'run CMD with a fresh one',
    load: async () => (await import('./exec.ts')).exec,
  },
  {
    name: 'env',
    section: 'Sandbox',
    brief: 'print SVC_* variables',
    load: async () => (await import('./env.ts')).env,
  },
  {
    name: 'placements',
    section: 'API v1',
    brief: 'request, list, explain',
    load: async () => (await import('./placements/index.ts')).placements,
  },
  {
    name: 'jobs',
    section: 'API v1',
    brief: 'create slots to poll',
    load: async () => (await import('./jobs.ts')).jobs,
  },
  {
    name: 'decisions',
    section: 'API v1',
    brief: 'poll a slot',
    load: async () => (await import('./decisions.ts')).decisions,
  },
  {
    name: 'browser',
    section: 'API v1',
    brief: 'get an activation token',
    load: async () => (await import('./browser.ts')).browser,
  },
  {
    name: 'consent',
    section: 'API v1',
    brief: 'store, withdraw, show',
    load: async () => (await import('./consent.ts')).consent,
  },
  {
    name: 'projects',
    section: 'API v1',
    brief: 'settings, runtime config',
    load: async () => (await import('./projects.ts')).projects,
  },
  {
    name: 'keys',
    section: 'Sandbox',
    brief: 'list, create, revoke',
    load: async () => (await import('./keys.ts')).keys,
  },
  {
    name: 'beacons',
    section: 'API v1',
    brief: 'send and list beacons',
    load: async () => (await import('./beacons/index.ts')).beacons,
  },
  {
    name: 'render',
    section: 'API v1',
    brief: 'fetch a hosted frame',
    load: async () => (await import('./render.ts')).render,
  },
  {
    name: 'requests',
    section: 'Look inside',
    brief: 'the request journal',
    load: async () => (await import('./requests/index.ts')).requests,
  },
  {
    name: 'events',
    section: 'Look inside',
    brief: 'follow what happens',
    load: async () => (await import('./events.ts')).events,
  },
  {
    name: 'billing',
    section: 'Look inside',
    brief: 'what would be billed',
    load: async () => (await import('./billing.ts')).billing,
  },
  {
    name: 'evidence',
    section: 'Look inside',
    brief: 'verify, export, list',
    load: async () => (await import('./evidence/index.ts')).evidence,
  },
  {
    name: 'contract',
    section: 'Look inside',
    brief: 'the contract, check URL',
    load: async () => (await import('./contract/index.ts')).contractGroup,
  },
  {
    name: 'openapi',
    section: 'Look inside',
    brief: 'the OpenAPI document',
    load: async () => (await import('./contract/openapi.ts')).openapi,
  },
  {
    name: 'doctor',
    section: 'Look inside',
    brief: 'find what is wrong',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'qa',
    section: 'Look inside',
    brief: 'scripted QA: run, list',
    load: async () => (await import('./qa/index.ts')).qa,
  },
  {
    name: 'init',
    section: 'Set up',
    brief: 'a project from a template',
    load: async () => (await import('./scaffold.ts')).init,
  },
  {
    name: 'scaffold',
    section: 'Set up',
    brief: 'the same as init',
    load: async () => (await import('./scaffold.ts')).scaffold,
  },
  {
    name: 'config',
    section: 'Set up',
    brief: 'profiles and settings',
    load: async () => (await import('./config.ts')).config,
  },
  {
    name: 'completion',
    section: 'Set up',
    brief: 'completion of your shell',
    load: async () => (await import('./completion.ts')).completion,
  },
]
