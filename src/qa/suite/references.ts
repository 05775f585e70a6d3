/** Checks what a case refers to, before anything runs: variables, operators, reason codes, types of events. */
import { eventTypes } from '../../contract/control/events.ts'
import { reasonCodes } from '../../contract/errors.ts'
import { acceptCodes } from '../../contract/v1/beacons.ts'
import { isObject, type Json } from '../../foundation/json.ts'
import { operators } from '../expect/matchers.ts'
import type { Place } from '../result.ts'
import { type Path, type SuiteProblem, suggestion } from './problems.ts'
import type { LoadedCase, LoadedStep } from './schema.ts'
import { builtIns, expressionsIn, filterNames } from './variables.ts'

/** Kinds of steps whose value may be the name of an earlier step. */
const kindsOfSlots = new Set(['poll', 'frame', 'ledger'])

export function referenceProblems(loaded: LoadedCase, place: Place): SuiteProblem[] {
  const known = new Set([...Object.keys(builtIns), ...Object.keys(loaded.variables), ...Object.keys(loaded.axes)])
  const problems: SuiteProblem[] = []
  problems.push(...unknownVariables(loaded.name, known, () => place))
  const responses = new Set<string>()
  for (const step of [...loaded.setup, ...loaded.steps, ...loaded.teardown]) {
    const { as } = step.data
    const names = new Set([...known, ...responses])
    problems.push(...walk(step.data as Json, [], (value, path) => variablesOf(value, path, step, as, names)))
    problems.push(...unknownStep(step, responses), ...expectationProblems(step))
    if (typeof as === 'string') responses.add(as)
  }
  return problems
}

/** Returns the problems of one text; expectations of a step know its own response. */
function variablesOf(value: Json, path: Path, step: LoadedStep, as: unknown, names: Set<string>): SuiteProblem[] {
  if (typeof value !== 'string') return []
  const known = typeof as === 'string' && path[0] === 'expect' ? new Set([...names, as]) : names
  return unknownVariables(value, known, () => step.at(path))
}

function unknownVariables(text: string, known: ReadonlySet<string>, place: () => Place): SuiteProblem[] {
  return expressionsIn(text).flatMap((expression) => {
    if (expression === null) {
      const hint = `Write {{name.path}}, {{now_ms - 30s}} or {{now_ms | iso}}; filters: ${filterNames.join(', ')}.`
      return { place: place(), message: `${text} has a variable that cannot be read.`, hint }
    }
    const { name } = expression
    if (known.has(name)) return []
    return { place: place(), message: `There is no variable named ${name} here.`, hint: suggestion(name, [...known]) }
  })
}

/** `frame: p`, `beacon: { of: p }`, `same_as: p`: p must be an earlier step. */
function unknownStep({ kind, data, at }: LoadedStep, responses: ReadonlySet<string>): SuiteProblem[] {
  const main = data[kind.name]
  const uses: [Json | undefined, Path][] = []
  if (kindsOfSlots.has(kind.name) && typeof main === 'string') uses.push([main, [kind.name]])
  if (isObject(main) && 'of' in main) uses.push([main.of, [kind.name, 'of']])
  const same = isObject(data.expect) ? data.expect.same_as : undefined
  uses.push([isObject(same) ? same.step : same, ['expect', 'same_as']])
  return uses.flatMap(([name, path]) => {
    if (typeof name !== 'string' || name.includes('{{') || /^(slot|ast|job)_/.test(name) || responses.has(name))
      return []
    const hint =
      responses.size === 0 ? `Give the step that you mean a name: as: ${name}` : suggestion(name, [...responses])
    return { place: at(path), message: `There is no earlier step named ${name}.`, hint }
  })
}

function expectationProblems({ data, at }: LoadedStep): SuiteProblem[] {
  const { expect } = data
  if (!isObject(expect)) return []
  const problems = walk(expect, ['expect'], (value, path) => (isObject(value) ? operatorProblems(value, path, at) : []))
  for (const reason of [expect.reason ?? []].flat()) {
    if (typeof reason !== 'string' || reason.includes('{{') || reason in reasonCodes) continue
    const isAccept = (acceptCodes as readonly string[]).includes(reason)
    const message = `${reason} is no reason_code${isAccept ? ' of an error' : ''}.`
    const hint = isAccept
      ? `Accepted beacons have it: body: { reason_code: ${reason} }`
      : suggestion(reason, Object.keys(reasonCodes))
    problems.push({ place: at(['expect', 'reason']), message, hint })
  }
  for (const event of Array.isArray(expect.events) ? expect.events : []) {
    const type = isObject(event) ? event.type : event
    if (typeof type !== 'string' || type.includes('{{') || (eventTypes as readonly string[]).includes(type)) continue
    const place = at(['expect', 'events'])
    problems.push({ place, message: `${type} is no event.`, hint: suggestion(type, eventTypes) })
  }
  return problems
}

function operatorProblems(value: { [name: string]: Json }, path: Path, at: LoadedStep['at']): SuiteProblem[] {
  const names = Object.keys(value)
  if (!names.some((name) => name.startsWith('$'))) return []
  return names.flatMap((name) => {
    const operator = operators[name]
    if (operator === undefined) {
      const message = name.startsWith('$') ? `${name} is no operator.` : `${name} stands among operators.`
      return [{ place: at([...path, name]), message, hint: suggestion(name, Object.keys(operators)) }]
    }
    const problem = operator.problem?.(value[name]!) ?? null
    return problem === null ? [] : [{ place: at([...path, name]), message: `${name} ${problem}.`, hint: '' }]
  })
}

/** Visits a value and all values in it, and the names of fields. */
function walk(value: Json, path: Path, visit: (value: Json, path: Path) => SuiteProblem[]): SuiteProblem[] {
  const own = visit(value, path)
  if (Array.isArray(value)) return [...own, ...value.flatMap((item, index) => walk(item, [...path, index], visit))]
  if (!isObject(value)) return own
  return [
    ...own,
    ...Object.entries(value).flatMap(([name, field]) => [
      ...(name.includes('{{') ? visit(name, [...path, name]) : []),
      ...walk(field, [...path, name], visit),
    ]),
  ]
}
