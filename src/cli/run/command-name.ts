import type { Host } from './host.ts'

/** How a person would call this program again: under npm it may not be on the path. */
export function commandName(env: Host['env']): string {
  return env.npm_execpath !== undefined || env.npm_lifecycle_event !== undefined ? 'npx svc' : 'svc'
}
