/** Allowed origins: the second of the five points to check when migrating. */
import { reasonCodes } from '../../contract/errors.ts'
import { type Check, type Outcome, orOk, problem } from '../doctor/finding.ts'
import { refusals } from '../doctor/journal-check.ts'
import { type Exchange, groupBy, routeOf, type Traffic, times } from '../exchange.ts'

export const allowedOrigins: Check<Traffic> = {
  name: 'allowed origins',
  find: (traffic) => {
    const refused = groupBy(traffic.exchanges, (exchange) =>
      exchange.reason_code === 'origin_not_allowed' ? (exchange.detail?.request_headers.origin ?? '(none)') : null,
    )
    return orOk(
      [
        ...[...refused].map(([origin, group]) => notAllowed(origin, group, traffic)),
        ...refusals(traffic.exchanges, {
          origin_mismatch: reasonCodes.origin_mismatch.hint,
          origin_missing: reasonCodes.origin_missing.hint,
        }),
      ],
      'No origin was refused.',
    )
  },
}

function notAllowed(origin: string, group: readonly Exchange[], traffic: Traffic): Outcome {
  const last = group.at(-1) as Exchange
  const client_id = last.client_id ?? traffic.client_id ?? traffic.projects[0]?.client_id ?? 'CLIENT_ID'
  const allowed = traffic.projects.find((project) => project.client_id === client_id)?.allowed_origins ?? []
  const near = allowed.map((entry) => difference(origin, entry)).find((text) => text !== null)
  return problem(
    `${origin} was refused ${times(group.length)} (${routeOf(last)}): ${near ?? `${client_id} allows ${allowed.join(', ') || 'no origin'}`}.`,
    `${traffic.command_name} projects update ${client_id} --set allowed_origins=${[...allowed, origin].join(',')}`,
  )
}

/** In what an origin differs from one that is allowed, when it is but one thing. */
export function difference(origin: string, allowed: string): string | null {
  const [seen, entry] = [partsOf(origin), partsOf(allowed)]
  if (seen === null || entry === null) return null
  const differs = (['scheme', 'host', 'port'] as const).filter((part) => {
    if (part === 'port' && entry.port === '*') return false
    return seen[part] !== entry[part]
  })
  const [only] = differs
  const isSameMachine = isLoopback(seen.host) && isLoopback(entry.host)
  if (differs.length !== 1 || only === undefined || (only === 'host' && !isSameMachine)) return null
  return `${allowed} is allowed, the ${only} differs`
}

function partsOf(origin: string): { scheme: string; host: string; port: string } | null {
  const match = /^(https?):\/\/(\[[^\]]+\]|[^/:]+)(?::(\d+|\*))?\/?$/i.exec(origin)
  if (match === null) return null
  const scheme = (match[1] as string).toLowerCase()
  return { scheme, host: (match[2] as string).toLowerCase(), port: match[3] ?? (scheme === 'https' ? '443' : '80') }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\./.test(host)
}
