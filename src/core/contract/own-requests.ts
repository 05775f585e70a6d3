/** How the requests that svc itself sends are marked, so that nothing judges them as those of an integration. */
import { tableNames } from '#foundation/table-entry.ts'

/**
 * The User-Agents of what svc itself sends: the command line, agents' tools, `svc qa run` (its pages add theirs to that
 * of the browser), the inspector, the backend of the demo, and the console on a page. Reports do not count these requests as those of an
 * integration, whatever their status.
 */
export const ownAgents = {
  command_line: 'svc/',
  tools: 'svc-mcp/',
  qa: 'svc-qa/1',
  inspector: 'svc-inspector',
  demo: 'svc-demo',
  console: 'svc-console',
  contract_check: 'svc-contract-check',
} as const

/** The header of a request that the sandbox sent to itself again, in the journal: the one that it repeats. */
export const replayHeader = 'x-sandbox-replay-of'

/** Whether svc itself sent a request, by its headers in the journal. */
export function isOwnRequest(headers: Readonly<Record<string, string>>): boolean {
  return replayHeader in headers || ownSender(headers) !== null
}

/** Returns which part of svc sent a request, by its headers in the journal; null for any other client. */
export function ownSender(headers: Readonly<Record<string, string>>): keyof typeof ownAgents | null {
  const agent = headers['user-agent'] ?? ''
  if (agent.includes(` ${ownAgents.qa}`)) return 'qa'
  const names = tableNames(ownAgents)
  return names.find((name) => agent.startsWith(ownAgents[name])) ?? null
}

/**
 * Whether a sandbox writes a row with this path and status into its journal: a request to the API or to a path of old
 * clients, a call that missed both, or a callback, whose path is its URL. Imported rows may have any: no other is kept,
 * and none is sent again.
 */
export function isJournaled(path: string, status: number): boolean {
  if (!path.startsWith('/')) return /^https?:\/\//.test(path)
  const [, first = '', ...rest] = decodedParts(path)
  if (first === 'v1' || first === 'public') return rest.length > 0
  return status === 404 && !first.startsWith('_sandbox')
}

/** Returns the parts of a path as routes compare them; none for a path that cannot be decoded. */
function decodedParts(path: string): string[] {
  try {
    return path.split(/[?#]/, 1)[0]!.split('/').map(decodeURIComponent)
  } catch {
    return []
  }
}

/**
 * Identifies the requests of `svc contract check`: their User-Agent, and the prefix of their session and beacon ids,
 * which are known beyond the journal.
 */
export const contractCheckClient = {
  user_agent: ownAgents.contract_check,
  session_prefix: 'svc_contract_check_',
} as const
