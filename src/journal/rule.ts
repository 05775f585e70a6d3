/**
 * What an integration is judged by: rules over the traffic that was observed. A rule is pure; it never looks by itself,
 * and it says how much there was to judge by, so that "nothing was seen" is not taken for "all is well".
 */
import type { ReasonCode } from '../contract/errors.ts'
import { type Exchange, groupBy, member, routeOf, type Traffic, times } from './exchange.ts'
import type { PageSeen } from './observe/page/seen.ts'

export interface Observed extends Traffic {
  /** The program that was watched has ended: what it did not do by then, it will not do. */
  is_ended: boolean
  /** Everything that its sandbox ever got is here. */
  is_whole: boolean
  /** Null without a browser. */
  page: PageSeen | null
}

/** `error`: money, people or the contract are hurt. `warning`: it works, and costs something. */
export type Severity = 'error' | 'warning'

/** One thing that was seen, with the requests that show it. */
export interface Finding {
  /** A sentence or two. */
  seen: string
  /** Oldest first. */
  requests: readonly Exchange[]
  /** What to do, where there is something more fitting than what the rule says. */
  fix?: string
}

export interface Judgement {
  /** How many requests, slots or the like there were to judge by; 0: the rule could not be judged. */
  looked_at: number
  findings: readonly Finding[]
  /** What is worth knowing, and no mistake: rates. */
  notes?: readonly string[]
}

export interface Rule {
  /** What a good integration does; the name of the case. */
  title: string
  severity: Severity
  /** What a breach of it costs. */
  costs: string
  /** What to do about it. */
  fix: string
  /** What must be in the traffic for it to be judged. */
  needs: string
  judge(observed: Observed): Judgement
}

/** A browser sends its last beacons, and a client polls again, within this time. */
const patience_ms = 5_000

/** Until when everything is there that follows from a request: sandbox time, epoch milliseconds. */
export function settledAt({ is_ended, now_ms }: Observed): number {
  return is_ended ? now_ms : now_ms - patience_ms
}

/** The same for what a browser does, which may have been closed in the middle of it. */
export function settledInBrowserAt({ now_ms }: Observed): number {
  return now_ms - patience_ms
}

/** Whether a browser sent it: programs send neither header. */
export function isFromBrowser({ detail }: Exchange): boolean {
  const headers = detail?.request_headers
  return headers !== undefined && ('origin' in headers || 'sec-fetch-site' in headers || 'sec-fetch-dest' in headers)
}

/** A rule about requests that the service refused for one of these reasons. */
export function refusalRule(
  rule: Omit<Rule, 'judge'>,
  reasons: readonly ReasonCode[],
  isConcerned: (exchange: Exchange) => boolean = () => true,
): Rule {
  const wanted: ReadonlySet<string> = new Set(reasons)
  return {
    ...rule,
    judge({ exchanges }) {
      const concerned = exchanges.filter(isConcerned)
      const groups = groupBy(concerned, (exchange) =>
        wanted.has(exchange.reason_code ?? '') ? `${exchange.reason_code} ${routeOf(exchange)}` : null,
      )
      return { looked_at: concerned.length, findings: [...groups.values()].map(refusalOf) }
    },
  }
}

function refusalOf(group: readonly Exchange[]): Finding {
  const last = group.at(-1) as Exchange
  const { message, hint } = { message: text(last, 'message'), hint: text(last, 'hint') }
  return {
    seen: `${routeOf(last)} was refused ${times(group.length)} with ${last.status} ${last.reason_code}${message === null ? '.' : `: ${message}`}`,
    requests: group,
    ...(hint === null ? {} : { fix: hint }),
  }
}

function text({ detail }: Exchange, name: string): string | null {
  const value = member(detail?.response_body, name)
  return typeof value === 'string' ? value : null
}
