/** Which cases there are to run: every combination of each matrix, filtered, repeated and sharded. */

import { isObject, type Json } from '../../foundation/json.ts'
import { valueAt } from '../../foundation/json-path.ts'
import type { Move } from '../steps/step-kind.ts'
import type { LoadedCase, LoadedStep, LoadedSuite } from '../suite/schema.ts'
import type { Need } from './target.ts'

export interface PlannedCase {
  /** `suite/name`, with the values of its matrix in it. */
  id: string
  suite: LoadedSuite
  loaded: LoadedCase
  name: string
  matrix: Readonly<Record<string, Json>>
  attempt: number
  needs: readonly { need: Need; step: LoadedStep }[]
  moves: ReadonlySet<Move>
  /** It expects or awaits events. */
  listens: boolean
  /** It changes what all share, or listens to what any case may cause: no other runs meanwhile. */
  alone: boolean
}

export interface Selection {
  /** Only cases whose id matches. */
  grep?: RegExp | undefined
  /** Only cases with one of these tags. */
  tags?: readonly string[]
  /** No case with one of these tags. */
  not_tags?: readonly string[]
  /** Cases that need a browser too. */
  browser?: boolean
  /** How often each case runs. Default 1. */
  repeat?: number
  /** The `index`-th, from 1, of `of` parts that are about as large. */
  shard?: { index: number; of: number } | undefined
}

/** Every case of these suites, once for each combination. */
export function expand(suites: readonly LoadedSuite[]): PlannedCase[] {
  return suites.flatMap((suite) =>
    suite.cases.flatMap((loaded) => combinations(loaded).map((matrix) => planned(suite, loaded, matrix))),
  )
}

/** The cases that were asked for, in their order. */
export function select(cases: readonly PlannedCase[], selection: Selection): PlannedCase[] {
  const { grep, tags = [], not_tags = [], repeat = 1, shard } = selection
  const chosen = cases
    .filter(({ id }) => grep === undefined || grep.test(id))
    .filter(({ loaded }) => tags.length === 0 || tags.some((tag) => loaded.tags.includes(tag)))
    .filter(({ loaded }) => !not_tags.some((tag) => loaded.tags.includes(tag)))
    .filter((each) => selection.browser === true || !needsBrowser(each))
  const part = shard === undefined ? chosen : chosen.filter((_, index) => index % shard.of === shard.index - 1)
  return part.flatMap((each) => Array.from({ length: repeat }, (_, index) => ({ ...each, attempt: index + 1 })))
}

export function needsBrowser({ needs }: PlannedCase): boolean {
  return needs.some(({ need }) => need === 'browser')
}

function planned(suite: LoadedSuite, loaded: LoadedCase, matrix: Record<string, Json>): PlannedCase {
  const written = [...loaded.setup, ...loaded.steps, ...loaded.teardown]
  const steps = written.map((step) => ({
    ...step,
    data: withMatrix(step.data as Json, matrix) as LoadedStep['data'],
  }))
  const name = nameOf(loaded.name, matrix)
  const project = typeof loaded.project === 'object' && loaded.project !== null
  const moves = new Set(steps.flatMap(({ kind, data }) => kind.moves(data)))
  // A project of the case's own is nobody else's.
  if (project) moves.delete('project')
  const needs = steps.flatMap((step) => needsOf(step).map((need) => ({ need, step })))
  if (loaded.project !== null && steps[0] !== undefined) needs.unshift({ need: 'control', step: steps[0] })
  const listens = steps.some(
    ({ kind, data }) => kind.name === 'wait_for' || (isObject(data.expect) && 'events' in data.expect),
  )
  const alone = moves.size > 0 || (listens && awaitsShared(steps))
  return { id: `${suite.name}/${name}`, suite, loaded, name, matrix, attempt: 1, needs, moves, listens, alone }
}

/** With the values of the matrix in it, as far as they are all that a text is: what a step needs may depend on them. */
function withMatrix(value: Json, matrix: Readonly<Record<string, Json>>): Json {
  if (typeof value === 'string') {
    const [, name, path = ''] = /^\{\{\s*([a-z][a-z0-9_]*)(?:\.([\w.-]+))?\s*\}\}$/.exec(value) ?? []
    const axis = name === undefined ? undefined : matrix[name]
    return axis === undefined ? value : (valueAt(axis, path) ?? value)
  }
  if (Array.isArray(value)) return value.map((item) => withMatrix(item, matrix))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withMatrix(member, matrix)]))
}

/** Whether a step awaits an event that does not tell whose it is. */
function awaitsShared(steps: readonly LoadedStep[]): boolean {
  const awaited = steps.map(({ data }) =>
    JSON.stringify([data.wait_for ?? null, isObject(data.expect) ? (data.expect.events ?? null) : null]),
  )
  return awaited.some((text) => sharedEvents.some((type) => text.includes(type)))
}

const sharedEvents = ['consent.changed', 'browser.activated', 'clock.changed', 'sandbox.'] as const

function needsOf({ kind, data }: LoadedStep): readonly Need[] {
  const { expect } = data
  const looksInside = isObject(expect) && ['events', 'billing', 'evidence'].some((name) => name in expect)
  return [...kind.needs(data), ...(looksInside ? (['control'] as const) : [])]
}

/** Every combination of the values of the axes but the excepted ones. */
function combinations({ axes, except }: LoadedCase): Record<string, Json>[] {
  const all = Object.entries(axes).reduce<Record<string, Json>[]>(
    (before, [name, values]) =>
      before.flatMap((combination) => values.map((value) => ({ ...combination, [name]: value }))),
    [{}],
  )
  return all.filter((combination) => !except.some((each) => isExcepted(combination, each)))
}

function isExcepted(combination: Record<string, Json>, except: Readonly<Record<string, Json>>): boolean {
  return Object.entries(except).every(([name, value]) => labelOf(combination[name]!) === labelOf(value))
}

/** The name with the values of its matrix; those that it does not mention stand behind it. */
function nameOf(name: string, matrix: Readonly<Record<string, Json>>): string {
  let text = name
  const left: string[] = []
  for (const [axis, value] of Object.entries(matrix)) {
    const use = new RegExp(`\\{\\{\\s*${axis}(?:\\.([A-Za-z0-9_.-]+))?\\s*\\}\\}`, 'g')
    const replaced = text.replace(use, (_, path: string = '') => labelOf(valueAt(value, path) ?? null))
    if (replaced === text) left.push(labelOf(value))
    text = replaced
  }
  return left.length === 0 ? text : `${text} [${left.join(', ')}]`
}

/** A value of a matrix in one word: an object goes by its name. */
function labelOf(value: Json): string {
  if (!isObject(value)) return Array.isArray(value) ? value.map(labelOf).join('+') : String(value)
  const { name } = value
  return typeof name === 'string' ? name : JSON.stringify(value)
}
