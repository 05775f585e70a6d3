/**
 * The names of commands in the version before, and what does the same now. The command line refuses them by this table,
 * docs/commands.md lists it, and a test runs every name.
 */
import { findEntry } from '#foundation/table-entry.ts'

/** By earlier name: a command of svc, or, where none is left, what does it instead. */
export const renamedCommands: Readonly<Record<string, string>> = {
  'sandbox start': 'svc start',
  'sandbox info': 'svc sandbox status',
  'sandbox integrity': 'svc sandbox status --check',
  'sandbox metrics': 'curl "$SVC_BASE_URL/_sandbox/metrics"',
  'sandbox migrate': 'svc team migrate',
  'sandbox faults clear': 'svc sandbox faults remove --all',
  'sandbox scenario clear': 'svc sandbox scenario use none',
  'health live': 'svc sandbox status',
  'health ready': 'svc sandbox status',
  env: 'svc sandbox env',
  'placements explain': 'svc explain',
  'jobs create': 'svc api jobs.create',
  'decisions get': 'svc api decisions.get',
  'browser activate': 'svc api browser.activate',
  'consent set': 'svc api consent.set',
  'consent withdraw': 'svc api consent.set --decision withdrawn',
  'consent show': 'svc api consent.list',
  'projects config': 'svc api projects.config',
  'projects list': 'svc sandbox projects list',
  'projects show': 'svc sandbox projects show',
  'projects create': 'svc sandbox projects create',
  'projects update': 'svc sandbox projects update',
  'keys list': 'svc sandbox keys list',
  'keys create': 'svc sandbox keys create',
  'keys revoke': 'svc sandbox keys revoke',
  'tokens list': 'svc team tokens list',
  'tokens create': 'svc team tokens create',
  'tokens revoke': 'svc team tokens revoke',
  'tokens reset-admin': 'svc team tokens reset-admin',
  'audit list': 'svc team audit',
  'namespaces list': 'svc team namespaces list',
  'namespaces delete': 'svc team namespaces delete',
  'console list': 'svc sandbox console list',
  'console confirm': 'svc sandbox console confirm',
  'console revoke': 'svc sandbox console revoke',
  'render open': 'svc open frame',
  'render fetch': 'svc api render.frame',
  'render script': 'curl "$SVC_BASE_URL/v1/render.js"',
  'requests find': 'svc requests list',
  'requests count': 'svc requests verify',
  'requests nearest': 'svc requests verify',
  'requests tail': 'svc sandbox logs',
  'events stream': 'svc sandbox events',
  'callbacks listen': 'svc sandbox callbacks listen',
  'callbacks list': 'svc sandbox callbacks list',
  'callbacks resend': 'svc sandbox callbacks resend',
  'billing report': 'svc beacons billing',
  bundle: 'svc bundle create',
  'bundles list': 'svc bundle list',
  'bundles show': 'svc open BUNDLE_ID',
  import: 'svc bundle import',
  openapi: 'svc contract openapi',
  scaffold: 'svc init',
  'config leave': 'svc config use --none',
  completion: 'svc config completion',
}

/** Names that scripts, CI and the configuration of agents call: these run in this version, with a note on stderr. */
export const keptCommands: Readonly<Record<string, string>> = {
  'billing reconcile': 'svc beacons reconcile',
  'qa observe': 'svc observe',
  mcp: 'svc agent mcp',
}

/** Returns the arguments of a command line by its present name, with a note; as they are, and null, for others. */
export function withPresentName(args: readonly string[]): { args: readonly string[]; note: string | null } {
  // `bundle` alone is a group now: with a slot it is meant as before.
  if (args[0] === 'bundle' && args[1]?.startsWith('slot_'))
    return { args: ['bundle', 'create', ...args.slice(1)], note: 'svc bundle SLOT is now svc bundle create SLOT' }
  for (const [earlier, now] of Object.entries(keptCommands)) {
    const words = earlier.split(' ')
    if (words.every((word, index) => args[index] === word))
      return { args: [...now.split(' ').slice(1), ...args.slice(words.length)], note: `svc ${earlier} is now ${now}` }
  }
  return { args, note: null }
}

/** Returns what the words of a command line are called now: `svc health ready is now svc sandbox status`; null for others. */
export function describeRenamed(words: readonly string[]): string | null {
  for (const length of [3, 2, 1]) {
    const earlier = words.slice(0, length).join(' ')
    const now =
      words.length < length ? undefined : (findEntry(renamedCommands, earlier) ?? findEntry(keptCommands, earlier))
    if (now !== undefined) return `svc ${earlier} is now ${now}`
  }
  return null
}
