/** What to say of a request that the recording has no response to: what is nearest, and what to do. No value is repeated. */
import type { Script, ScriptedExchange } from './script.ts'

const remedy = 'To let the emulator respond to what was not recorded, start with --fallback.'
/** Fields that are named. */
const mostFields = 4

export function describeMissing(
  { exchanges }: Pick<Script, 'exchanges'>,
  request: Pick<ScriptedExchange, 'endpoint' | 'fields'>,
): string {
  const same = exchanges.filter(({ endpoint }) => endpoint === request.endpoint)
  const nearest = findNearest(same, request.fields)
  if (nearest === null) return `The recording has no request to this path. ${remedy}`
  const { exchange, differing } = nearest
  const where = `entry ${exchange.entry + 1}, ${exchange.method} ${exchange.path}`
  if (differing.length > 0) {
    const more = differing.length > mostFields ? ` and ${differing.length - mostFields} more` : ''
    return `The nearest recorded request is ${where}; it differs in ${differing.slice(0, mostFields).join(', ')}${more}. ${remedy}`
  }
  return `The same request was recorded, as ${where}, but not this often in one session. To play everything from the beginning: svc sandbox reset. ${remedy}`
}

interface Nearest {
  exchange: ScriptedExchange
  /** The paths of the fields that differ. */
  differing: string[]
}

function findNearest(exchanges: readonly ScriptedExchange[], fields: ScriptedExchange['fields']): Nearest | null {
  let nearest: Nearest | null = null
  for (const exchange of exchanges) {
    const differing = differingPaths(fields, exchange.fields)
    if (nearest === null || differing.length < nearest.differing.length) nearest = { exchange, differing }
  }
  return nearest
}

function differingPaths(one: ScriptedExchange['fields'], other: ScriptedExchange['fields']): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter((path) => one.get(path) !== other.get(path))
}
