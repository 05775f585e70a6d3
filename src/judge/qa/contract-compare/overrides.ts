/** Makes overrides from findings: rules with which the sandbox answers as the service did. */
import { applyOverrides, type Override } from '#contract/recordings/overrides.ts'
import { type Json, valueAt } from '#foundation/json.ts'
import type { ComparedResponse } from './differences.ts'
import { compareExchanges, type ExchangePair, type ValuedDifference } from './findings.ts'

interface WrittenOverrides {
  overrides: Override[]
  /** Findings that no rule can express, with the reason. */
  left: { finding: ValuedDifference; why: string }[]
}

/** An error of another status has another body: its fields are compared only then. */
const maxRounds = 3

/**
 * Returns rules for the findings of a comparison. A rule is kept when the responses of the other side, changed by it, do
 * not differ from those of the service any more: what varies with a request has no rule.
 */
export function createOverrides(pairs: readonly ExchangePair[]): WrittenOverrides {
  let overrides: Override[] = []
  for (let round = 0; round < maxRounds; round++) {
    const { findings } = compareExchanges(changePairs(pairs, overrides))
    const added = findings.flatMap(toRules).filter((rule) => !overrides.some((each) => isSamePlace(each, rule)))
    if (added.length === 0) break
    overrides = [...overrides, ...added]
  }
  const wrong = compareExchanges(changePairs(pairs, overrides)).findings
  const isRight = (rule: Override) => !wrong.some((finding) => isAbout(finding, rule))
  const kept = joinFormats(overrides.filter(isRight), pairs)
  const left = compareExchanges(changePairs(pairs, kept)).findings
  return { overrides: kept, left: left.map((finding) => ({ finding, why: explainLeft(finding) })) }
}

/** Joins rules that say the same for every format of an endpoint into one for all its responses. */
function joinFormats(overrides: readonly Override[], pairs: readonly ExchangePair[]): Override[] {
  const formats = Map.groupBy(pairs, ({ endpoint }) => endpoint)
  const groups = Map.groupBy(overrides, ({ when, seen: _, sandbox: __, ...rule }) =>
    JSON.stringify([rule, when?.format === undefined ? when : null]),
  )
  return [...groups.values()].flatMap((group) => {
    const [{ when, ...rule }] = group as [Override]
    if (when?.format === undefined) return group
    const seen = new Set(group.map((each) => each.when?.format))
    const isForAll = (formats.get(rule.endpoint) ?? []).every(
      ({ other }) => other.status >= 400 || seen.has(findFormat(other.json)) || !changes(rule, other),
    )
    return isForAll ? [{ ...rule, seen: group.reduce((sum, each) => sum + (each.seen ?? 0), 0) }] : group
  })
}

/** Whether a rule changes a response: one without a fill has no placement to change. */
function changes(rule: Override, { status, json }: ComparedResponse): boolean {
  if (json === undefined) return false
  return JSON.stringify(applyOverrides([rule], { status, body: json }).body) !== JSON.stringify(json)
}

function findFormat(json: Json | undefined): string | null {
  const format = valueAt(json, 'decision.format')
  return typeof format === 'string' ? format : null
}

/** Returns the pairs as they are when the other side follows the rules. */
function* changePairs(pairs: readonly ExchangePair[], overrides: readonly Override[]): Generator<ExchangePair> {
  const rules = Map.groupBy(overrides, ({ endpoint }) => endpoint)
  for (const pair of pairs) {
    const own = rules.get(pair.endpoint)
    const { other } = pair
    if (own === undefined || other.json === undefined) {
      yield pair
      continue
    }
    const { status, body } = applyOverrides(own, { status: other.status, body: other.json })
    yield { ...pair, other: { ...other, status, json: body, text: JSON.stringify(body) } }
  }
}

function toRules(finding: ValuedDifference): Override[] {
  const { endpoint, weight: provenance, statuses, path, what, basis, other_value } = finding
  const about = { endpoint, provenance }
  const isError = statuses.other >= 400
  const sandbox = other_value === undefined ? {} : { sandbox: other_value }
  if (what === 'status' && isError !== statuses.service >= 400) return []
  if (what !== 'status' && (path === null || basis === 'contract')) return []
  return finding.seen.flatMap(({ kind, count: seen, values }): Override[] => {
    if (values.size !== 1 || (isError && kind === null)) return []
    const when = isError ? { reason_code: kind ?? '' } : { format: kind }
    if (path === null) return [{ ...about, when, status: statuses.service, ...sandbox, seen }]
    const [text] = values
    const change = text === undefined ? { absent: true as const } : { value: JSON.parse(text) as Json }
    return [{ ...about, when, path, ...change, ...sandbox, seen }]
  })
}

function isSamePlace(one: Override, other: Override): boolean {
  const place = ({ endpoint, path, when }: Override) => JSON.stringify([endpoint, path ?? null, when ?? null])
  return place(one) === place(other)
}

function isAbout({ endpoint, path, what, seen }: ValuedDifference, rule: Override): boolean {
  const isSame = endpoint === rule.endpoint && (rule.path === undefined ? what === 'status' : path === rule.path)
  const kind = rule.when?.reason_code ?? rule.when?.format
  return isSame && (kind === undefined || seen.some((each) => each.kind === kind))
}

function explainLeft({ what, path, basis, statuses }: ValuedDifference): string {
  if (what.startsWith('header ')) return 'headers have no rules'
  if (what === 'status' && statuses.other >= 400 !== statuses.service >= 400) {
    return 'one side accepts what the other refuses'
  }
  if (basis === 'contract' || path === null) return 'both sides say the same, or it is no field'
  return 'its values vary'
}
