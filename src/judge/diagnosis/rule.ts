/**
 * One type of rule over several kinds of facts: about an integration for `svc observe`, about a file of beacons for
 * `svc beacons lint`, and, in its own room, about this computer and its sandbox for `svc doctor`.
 * Facts are gathered first (`facts/`, `read.ts`); a rule is a pure function of them. It says how much there was to
 * judge by, so that "nothing was seen" is not mistaken for "all is well".
 */
import { type ReasonCode, reasonCodes } from '#contract/errors.ts'
import type { BillingVerdict } from '#contract/resources/placements.ts'
import type { Finding, Place, Severity } from '#foundation/finding.ts'
import { mapTable } from '#foundation/table-entry.ts'
import {
  countPhrase,
  formatRoute,
  groupBy,
  type JournaledExchange,
  type NonEmpty,
  takeLast,
  textAt,
} from './exchange.ts'
import type { AcceptedInFile, FileBeacon } from './facts/beacon-file.ts'
import type { PageSeen } from './facts/page.ts'
import type { RendererSource, ServedFiles } from './facts/served-files.ts'
import type { Journal } from './journal.ts'

/** The facts about an integration, and how complete its journal is. */
export interface Observed extends Journal {
  /** The program has ended: it will not do anything more. */
  is_ended: boolean
  /** The journal has every request that the sandbox ever received. */
  is_whole: boolean
  /** What the service would bill for the ads of the page, by slot. */
  bills?: ReadonlyMap<string, BillingVerdict>
  /** What a browser saw of the page, where one watched it. */
  page?: PageSeen | null
}

/** The kinds of facts. */
export interface Facts {
  journal: Observed
  page: { page: PageSeen; observed: Observed }
  served: ServedFiles & RendererSource
  /** A single beacon of a file. */
  beacon: FileBeacon
  /** The beacons of a file with the same asset token that the service would not refuse. */
  beacons: readonly AcceptedInFile[]
  /** All beacons of a file that the service would not refuse. */
  file: readonly AcceptedInFile[]
}

export interface RuleText {
  /** Public and permanent: reports, suppressions and scripts name it. */
  id: string
  severity: Severity
  /** The fix of a violation. */
  fix: string
  /** The requirement: the name of its case in reports of `svc observe`. */
  title?: string
  /** The cost of a violation; for `svc observe`. */
  costs?: string
  /** The facts without which the rule is skipped; for `svc observe`. */
  needs?: string
}

/** A rule that judges by these facts. */
export interface Rule<Given> extends RuleText {
  judge(facts: Given): Judgement
}

export type AnyRule = { [Kind in keyof Facts]: Rule<Facts[Kind]> & { facts: Kind } }[keyof Facts]

/** A rule before its set gives it an id. */
export type RuleBody<Kind extends keyof Facts> = Omit<Rule<Facts[Kind]>, 'id'>

export interface Judgement {
  /** The number of requests, slots or the like that there were to judge by; 0: the rule could not be judged. */
  sample_size: number
  findings: readonly RuleFinding[]
  /** Rates and the like: worth knowing, but not a violation. */
  notes?: readonly string[]
  /** The sentence for a check without findings; for `svc doctor`. */
  holds?: string
}

/** What a rule found. A fix or severity is more specific than the rule's; `unknown`: it could not be checked. */
export interface RuleFinding extends Pick<Finding, 'message'>, Partial<Pick<Finding, 'fix'>> {
  severity?: Severity | 'unknown'
  /** The requests that show it, oldest first. */
  requests?: readonly JournaledExchange[]
  /** The reason code of those requests, when the service refused them. */
  reason?: ReasonCode
  /** What it is about besides its requests, the same in every run: a field, an old name. For `svc.observe.yaml`. */
  about?: string
  /**
   * In a file: line and column, from 1, and the dotted path of the field; null when it is the whole beacon. `file`: a
   * source file of the project, where that is not the file that is judged.
   */
  place?: Place & { file?: string; path: string | null }
}

/** Returns rules about one kind of facts, each with its id. */
export function ruleSet<Kind extends keyof Facts, Id extends string>(
  facts: Kind,
  bodies: Readonly<Record<Id, RuleBody<Kind>>>,
): Readonly<Record<Id, Rule<Facts[Kind]> & { facts: Kind }>> {
  return mapTable(bodies, (body, id) => ({ id, facts, ...body }))
}

/** Returns one finding about these requests, or none when there are none. */
export function findingFor(requests: readonly JournaledExchange[], message: string, fix?: string): RuleFinding[] {
  return requests.length === 0 ? [] : [{ message, requests, ...(fix === undefined ? {} : { fix }) }]
}

/** Returns one finding about each group of requests. */
export function findingPerGroup(
  groups: Iterable<NonEmpty<JournaledExchange>>,
  message: (requests: readonly JournaledExchange[], first: JournaledExchange) => string,
): RuleFinding[] {
  return [...groups].map((requests) => ({ message: message(requests, requests[0]), requests }))
}

/** A browser sends its last beacons, and a client polls again, within this time. */
const patienceMs = 5_000

/**
 * Returns the time before which requests were made early enough for their consequences to be in the journal by now,
 * epoch milliseconds.
 */
export function completeUntil({ is_ended, now_ms }: Observed): number {
  return is_ended ? now_ms : now_ms - patienceMs
}

/** Returns the judge of a rule that looks at some of the requests; `find` gets them, oldest first. */
export function judgeMatching(
  isConcerned: (exchange: JournaledExchange) => boolean,
  find: (concerned: JournaledExchange[], observed: Observed) => readonly RuleFinding[],
): RuleBody<'journal'>['judge'] {
  return (observed) => {
    const concerned = observed.exchanges.filter(isConcerned)
    return { sample_size: concerned.length, findings: find(concerned, observed) }
  }
}

/** Returns the judge of a rule about requests that the service refused for one of these reasons. */
export function judgeRefused(
  reasons: readonly ReasonCode[],
  isConcerned: (exchange: JournaledExchange) => boolean = () => true,
): RuleBody<'journal'>['judge'] {
  return judgeMatching(isConcerned, (concerned) => findRefusals(concerned, reasons))
}

/** Returns one finding for each reason and route among the requests that were refused. */
export function findRefusals(exchanges: readonly JournaledExchange[], reasons: readonly ReasonCode[]): RuleFinding[] {
  const groups = groupBy(exchanges, (exchange) => {
    const { reason_code } = exchange
    return reason_code !== null && reasons.includes(reason_code) ? `${reason_code} ${formatRoute(exchange)}` : null
  })
  return [...groups.values()].map((requests) => {
    const last = takeLast(requests)
    const reason = last.reason_code as ReasonCode
    const message = textAt(last.response_body, 'message')
    return {
      message: `${formatRoute(last)} was refused ${countPhrase(requests.length)} with ${last.status} ${reason}${message === null ? '.' : `: ${message}`}`,
      fix: textAt(last.response_body, 'hint') ?? reasonCodes[reason].hint,
      requests,
      reason,
    }
  })
}
