/** Which cases there are to run: every combination of each matrix, filtered, repeated and sharded. */

import { mapJson } from '#foundation/json/walk.ts'
import { isObject, type Json, type JsonObject, valueAt } from '#foundation/json.ts'
import { matchPattern } from '../expect/pattern.ts'
import { valueWords } from '../result.ts'
import type { SharedState } from '../steps/step-kind.ts'
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
  changes: ReadonlySet<SharedState>
  /** Whether it expects or awaits events. */
  listens: boolean
  /** Whether no other case may run meanwhile: it changes shared state, or awaits events that any case may cause. */
  exclusive: boolean
}

export interface Selection {
  /** Only cases whose id matches this regular expression, in any case. */
  grep?: string | undefined
  /** Only cases with one of these tags. */
  tags?: readonly string[]
  /** No case with one of these tags. */
  not_tags?: readonly string[]
  /** Include cases that need a browser. */
  browser?: boolean
  /** Attempts of each case. Default 1. */
  repeat?: number
  /** The `index`-th, from 1, of `of` parts of about equal size. */
  shard?: { index: number; of: number } | undefined
}

/** Returns every case of these suites, once for each combination of its matrix. */
export function expand(suites: readonly LoadedSuite[]): PlannedCase[] {
  return suites.flatMap((suite) =>
    suite.cases.flatMap((loaded) => combinations(loaded).map((matrix) => planned(suite, loaded, matrix))),
  )
}

/** Returns the selected cases, in their order. Throws QaError when matching their ids takes too long. */
export function select(cases: readonly PlannedCase[], selection: Selection): PlannedCase[] {
  const { grep, tags = [], not_tags = [], repeat = 1, shard } = selection
  const ids = cases.map(({ id }) => id)
  const isNamed = grep === undefined ? null : matchPattern(grep, ids, 'iu')
  const chosen = cases
    .filter((_, index) => isNamed === null || isNamed[index])
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
    data: withMatrix(step.data, matrix),
  }))
  const name = fillName(loaded.name, matrix)
  const project = typeof loaded.project === 'object' && loaded.project !== null
  const changes = new Set(steps.flatMap(({ kind, data }) => kind.changes(data)))
  // Its own project is not shared.
  if (project) changes.delete('project')
  const needs = steps.flatMap((step) => listNeeds(step).map((need) => ({ need, step })))
  if (loaded.project !== null && steps[0] !== undefined) needs.unshift({ need: 'control', step: steps[0] })
  const listens = steps.some(
    ({ kind, data }) => kind.name === 'wait_for' || (isObject(data.expect) && 'events' in data.expect),
  )
  const exclusive = changes.size > 0 || (listens && awaitsSharedEvent(steps))
  return { id: `${suite.name}/${name}`, suite, loaded, name, matrix, attempt: 1, needs, changes, listens, exclusive }
}

/** Returns a value with variables of the matrix filled in where they are the whole text: needs may depend on them. */
function withMatrix(value: JsonObject, matrix: Readonly<Record<string, Json>>): JsonObject
function withMatrix(value: Json, matrix: Readonly<Record<string, Json>>): Json
function withMatrix(value: Json, matrix: Readonly<Record<string, Json>>): Json {
  return mapJson(value, (text) => {
    if (typeof text !== 'string') return text
    const [, name, path = ''] = /^\{\{\s*([a-z][a-z0-9_]*)(?:\.([\w.-]+))?\s*\}\}$/.exec(text) ?? []
    const axis = name === undefined ? undefined : matrix[name]
    return axis === undefined ? text : (valueAt(axis, path) ?? text)
  })
}

/** Whether a step awaits an event that does not name its slot or session. */
function awaitsSharedEvent(steps: readonly LoadedStep[]): boolean {
  const awaited = steps.map(({ data }) =>
    JSON.stringify([data.wait_for ?? null, isObject(data.expect) ? (data.expect.events ?? null) : null]),
  )
  return awaited.some((text) => sharedEvents.some((type) => text.includes(type)))
}

const sharedEvents = ['consent.changed', 'browser.activated', 'clock.changed', 'sandbox.'] as const

function listNeeds({ kind, data }: LoadedStep): readonly Need[] {
  const { expect } = data
  const readsSandbox = isObject(expect) && ['events', 'billing', 'evidence'].some((name) => name in expect)
  return [...kind.needs(data), ...(readsSandbox ? (['control'] as const) : [])]
}

/** Returns every combination of the values of the axes, except the excepted ones. */
function combinations({ axes, except }: LoadedCase): Record<string, Json>[] {
  const all = Object.entries(axes).reduce<Record<string, Json>[]>(
    (before, [name, values]) =>
      before.flatMap((combination) => values.map((value) => ({ ...combination, [name]: value }))),
    [{}],
  )
  return all.filter((combination) => !except.some((each) => isExcepted(combination, each)))
}

function isExcepted(combination: Record<string, Json>, except: Readonly<Record<string, Json>>): boolean {
  return Object.entries(except).every(([name, value]) => valueWords(combination[name]!) === valueWords(value))
}

/** Returns the name with the values of its matrix; values that it does not mention follow in brackets. */
function fillName(name: string, matrix: Readonly<Record<string, Json>>): string {
  let text = name
  const left: string[] = []
  for (const [axis, value] of Object.entries(matrix)) {
    const use = new RegExp(`\\{\\{\\s*${axis}(?:\\.([A-Za-z0-9_.-]+))?\\s*\\}\\}`, 'g')
    const replaced = text.replace(use, (_, path: string = '') => valueWords(valueAt(value, path) ?? null))
    if (replaced === text) left.push(valueWords(value))
    text = replaced
  }
  return left.length === 0 ? text : `${text} [${left.join(', ')}]`
}
