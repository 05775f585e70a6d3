/** Applies `svc.observe.yaml` to the verdicts of `svc observe`, and writes the first such file from them. */
import { compat, v1 } from '#contract/index.ts'
import { beaconEvents } from '#contract/resources/beacons.ts'
import { pathPattern, withoutQuery } from '#foundation/http.ts'
import { formatRoute, type JournaledExchange } from '../exchange.ts'
import { decideStanding, type Verdict, type Watched } from '../observe.ts'
import type { RuleFinding } from '../rule.ts'
import { type Applied, applyObserveFile, type Found } from './apply.ts'
import type { ObserveFile } from './observe-file.ts'
import { judgePlanned, listPlacementKinds } from './planned.ts'

/** Returns the verdicts without the findings that the file accepts, and what the file did. */
export function applyToVerdicts(
  verdicts: readonly Verdict[],
  watched: Watched,
  file: ObserveFile | null,
  now_ms: number,
): { verdicts: Verdict[]; applied: Applied<RuleFinding> } {
  const judged = new Set(verdicts.filter(({ standing }) => standing !== 'not_seen').map(ruleId))
  const applied = applyObserveFile(file, verdicts.flatMap(listFound), {
    now_ms,
    suite: 'observe',
    isJudged: ({ rule }) => judged.has(rule),
    planned: file === null ? [] : judgePlanned(file, watched),
  })
  const kept = new Set(applied.kept)
  const off = new Set(applied.off.map(({ rule }) => rule))
  const left = verdicts.map((verdict): Verdict => {
    if (off.has(ruleId(verdict))) return { ...verdict, findings: [], standing: 'off' }
    const findings = verdict.findings.filter((finding) => kept.has(finding))
    if (findings.length === verdict.findings.length) return verdict
    const standing = findings.length === 0 ? 'accepted' : decideStanding(verdict.rule, { ...verdict, findings })
    return { ...verdict, findings, standing }
  })
  return { verdicts: left, applied }
}

function ruleId({ rule }: Verdict): string {
  return `observe/${rule.id}`
}

function listFound(verdict: Verdict): Found<RuleFinding>[] {
  return verdict.findings.map((finding) => {
    const { message, place } = finding
    return {
      ...{ rule: ruleId(verdict), where: describeWhere(finding), message, item: finding },
      ...(place?.file !== undefined && { place: { file: place.file, line: place.line, column: place.column } }),
    }
  })
}

/** The longest text of a finding that names no request. */
const maxWhere = 200

/**
 * Returns what a finding is about in words that are the same in every run: routes with their parameters, a field, a file. A
 * finding about the page alone has its message, with `*` for identifiers and numbers.
 */
function describeWhere({ message, requests = [], reason, about, place }: RuleFinding): string {
  if (requests.length === 0 && place?.file === undefined) return plainMessage(message)
  const routes = [...new Set(requests.map(describeRoute))].toSorted()
  const subject = about ?? reason
  return [routes.join(', '), place?.file, subject].filter((part) => part !== undefined && part !== '').join(' ')
}

function plainMessage(message: string): string {
  const plain = message.replaceAll(/\b(?:slot|job|req|bcn|ast)_\w+|\d+(?:\.\d+)?/g, '*').replaceAll(/\s+/g, ' ')
  return plain.length > maxWhere ? `${plain.slice(0, maxWhere)}*` : plain
}

const endpoints = Object.values({ ...v1, ...compat })

/** `GET /v1/decisions/{slot_id}`; of a path without an endpoint the path. */
function describeRoute(exchange: JournaledExchange): string {
  const path = withoutQuery(exchange.path)
  const endpoint = endpoints.find((each) => each.method === exchange.method && pathPattern(each.path).test(path))
  return endpoint === undefined ? formatRoute(exchange) : `${endpoint.method} ${endpoint.path}`
}

interface CurrentOptions {
  /** The file that is replaced: its reasons, days, plans and rules that are off are kept. */
  earlier: ObserveFile | null
  now_ms: number
  /** The address of the JSON schema, for editors; null when it is not installed. */
  schema: string | null
}

/** How long a finding is accepted by the first file, in days. */
const acceptedDays = 90

/** Returns a file that accepts what was found and plans what was seen, as YAML. */
export function writeCurrent(
  verdicts: readonly Verdict[],
  watched: Watched,
  { earlier, now_ms, schema }: CurrentOptions,
): { text: string; accepted: number } {
  const until = new Date(now_ms + acceptedDays * 86_400_000).toISOString().slice(0, 10)
  const today = new Date(now_ms).toISOString().slice(0, 10)
  const off = earlier?.off ?? []
  const found = verdicts.flatMap(listFound).filter(({ rule }) => !off.some((entry) => entry.rule === rule))
  const accept = [...new Map(found.map(({ rule, where }) => [`${rule} ${where}`, { rule, where }])).values()]
  const others = (earlier?.accept ?? []).filter(({ rule }) => !rule.startsWith('observe/'))
  const entries = accept.map((entry) => {
    const known = earlier?.accept.find(({ rule, where }) => rule === entry.rule && where === entry.where)
    return { ...entry, until: known?.until ?? until, why: known?.why ?? `found on ${today}` }
  })
  const planned =
    earlier?.expect ??
    listPlacementKinds(watched).map(({ count: _count, events, ...kind }) => ({
      ...kind,
      events: beaconEvents.filter((event) => events.has(event)),
    }))
  const lines = [
    ...(schema === null ? [] : [`# yaml-language-server: $schema=${schema}`]),
    '# What is known, planned and off: svc docs qa-observe',
    ...writeList(
      'accept',
      [...entries, ...others].map(({ rule, where, until, why }) => ({ rule, where, until, why })),
    ),
    ...writeList(
      'expect',
      planned.map(({ surface, format, position, events }) => ({ surface, format, position, events })),
    ),
    ...writeList(
      'off',
      off.map(({ rule, why }) => ({ rule, why })),
    ),
  ]
  return { text: `${lines.join('\n')}\n`, accepted: found.length }
}

/** Fields with any text. A text in JSON is YAML too. */
const quoted = new Set(['where', 'why'])

/** Returns a list of objects as YAML, each field on a line. */
function writeList(name: string, entries: readonly Readonly<Record<string, unknown>>[]): string[] {
  if (entries.length === 0) return []
  const fields = (entry: Readonly<Record<string, unknown>>) =>
    Object.entries(entry).flatMap(([field, value]) => {
      if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return []
      return `${field}: ${Array.isArray(value) ? `[${value.join(', ')}]` : quoted.has(field) ? JSON.stringify(value) : value}`
    })
  return [
    `${name}:`,
    ...entries.flatMap((entry) => fields(entry).map((line, at) => `${at === 0 ? '  - ' : '    '}${line}`)),
  ]
}
