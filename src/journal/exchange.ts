/** The traffic of an integration: what `svc doctor` and `svc qa observe` judge, read from the journal. */
import type { BeaconItem } from '../contract/control/beacons.ts'
import type { PlacementItem } from '../contract/control/placements.ts'
import type { RequestItem } from '../contract/control/requests.ts'
import type { SandboxInfo } from '../contract/control/sandbox.ts'

export interface Exchange extends RequestItem {
  /** Headers and bodies; null where they were not looked at. */
  detail: ExchangeDetail | null
}

export interface ExchangeDetail {
  request_headers: Readonly<Record<string, string>>
  response_headers: Readonly<Record<string, string>>
  /** JSON bodies as values; null where there is none, or it is not JSON. */
  request_body: unknown
  response_body: unknown
}

export interface Traffic {
  /** Oldest first. */
  exchanges: readonly Exchange[]
  placements: readonly PlacementItem[]
  beacons: readonly BeaconItem[]
  projects: SandboxInfo['projects']
  /** Sandbox time of the look. */
  now_ms: number
  /** Project that commands are about. */
  client_id: string | null
  command_name: string
}

/** The path without its query. */
export function pathOf({ path }: Pick<Exchange, 'path'>): string {
  return path.split('?', 1)[0] as string
}

/** `POST /v1/beacons`. */
export function routeOf(exchange: Pick<Exchange, 'method' | 'path'>): string {
  return `${exchange.method} ${pathOf(exchange)}`
}

/** A member of a JSON object; undefined where there is none. */
export function member(value: unknown, ...path: readonly string[]): unknown {
  let at = value
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Record<string, unknown>)[name]
  }
  return at
}

/** Exchanges by a text of each, in the order of their first; those without one are left out. */
export function groupBy(
  exchanges: readonly Exchange[],
  key: (exchange: Exchange) => string | null,
): Map<string, Exchange[]> {
  const groups = new Map<string, Exchange[]>()
  for (const exchange of exchanges) {
    const name = key(exchange)
    if (name !== null) groups.set(name, [...(groups.get(name) ?? []), exchange])
  }
  return groups
}

/** `once`, `3 times`. */
export function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

/** Distinct texts on one line, the first few. */
export function some(texts: readonly string[], most = 3): string {
  const distinct = [...new Set(texts)]
  const more = distinct.length - most
  return distinct.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
