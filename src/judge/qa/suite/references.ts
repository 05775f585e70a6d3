import { reasonCodes } from '#contract/error-codes.ts'
import { acceptCodes } from '#contract/exports.ts'
import type { SourceLocation } from '#foundation/finding.ts'
import { walkJson } from '#foundation/json/walk.ts'
import { isObject, type Json, type JsonObject } from '#foundation/json.ts'
import { findEntry, isListed } from '#foundation/table-entry.ts'
import { type Path, type SuiteProblem, suggestion } from '#yaml/problems.ts'
import { operators } from '../expect/operators.ts'
import type { StepData } from '../steps/step-kind.ts'
import type { LoadedCase, LoadedStep } from './schema.ts'
import { builtIns, expressionsIn, filterNames } from './variables.ts'

/** Kinds of steps whose value may be the name of an earlier step. */
const kindsOfSlots = new Set(['poll', 'frame', 'ledger'])

export function referenceProblems(loaded: LoadedCase, place: SourceLocation): SuiteProblem[] {
  const known = new Set([...Object.keys(builtIns), ...Object.keys(loaded.variables), ...Object.keys(loaded.axes)])
  const problems: SuiteProblem[] = []
  problems.push(...unknownVariables(loaded.name, known, () => place))
  const responses = new Set<string>()
  for (const step of [...loaded.setup, ...loaded.steps, ...loaded.teardown]) {
    const { as } = step.data
    const names = new Set([...known, ...responses])
    for (const { value, path } of walkJson(step.data)) {
      problems.push(...checkVariables(path.at(-1), path, step, names), ...checkVariables(value, path, step, names))
    }
    problems.push(...unknownStep(step, responses), ...expectationProblems(step))
    if (typeof as === 'string') responses.add(as)
  }
  return problems
}

/** Returns the problems of one text; expectations of a step know its own response. */
function checkVariables(value: unknown, path: Path, step: LoadedStep, names: Set<string>): SuiteProblem[] {
  if (typeof value !== 'string') return []
  const { as } = step.data
  const known = typeof as === 'string' && path[0] === 'expect' ? new Set([...names, as]) : names
  return unknownVariables(value, known, () => step.at(path))
}

function unknownVariables(text: string, known: ReadonlySet<string>, place: () => SourceLocation): SuiteProblem[] {
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

/** `frame: p`, `beacon: { of: p }`, `mount: p`, `same_as: p`: p must be an earlier step. */
function unknownStep({ kind, data, at }: LoadedStep, responses: ReadonlySet<string>): SuiteProblem[] {
  const main = data[kind.name]
  const uses: [Json | undefined, Path][] = []
  if (kindsOfSlots.has(kind.name) && typeof main === 'string') uses.push([main, [kind.name]])
  if (isObject(main) && 'of' in main) uses.push([main.of, [kind.name, 'of']])
  uses.push(...mounted(data))
  const same = isObject(data.expect) ? data.expect.same_as : undefined
  uses.push([isObject(same) ? same.step : same, ['expect', 'same_as']])
  return uses.flatMap(([name, path]) => {
    if (typeof name !== 'string' || name.includes('{{') || /^(slot|ast|job)_/.test(name) || responses.has(name))
      return []
    const hint = responses.size === 0 ? `Name the step that you mean: as: ${name}` : suggestion(name, [...responses])
    return { place: at(path), message: `There is no earlier step named ${name}.`, hint }
  })
}

/** Returns the names that actions on a page mount: `mount: p`, `mount: { of: p }`. */
function mounted({ page, do: actions = page }: StepData): [Json | undefined, Path][] {
  const field = actions === page ? 'page' : 'do'
  return [actions].flat().flatMap((action, index): [Json | undefined, Path][] => {
    if (!isObject(action) || !('mount' in action)) return []
    const path = [field, ...(Array.isArray(actions) ? [index] : []), 'mount']
    return [isObject(action.mount) ? [action.mount.of, [...path, 'of']] : [action.mount, path]]
  })
}

function expectationProblems({ data, at }: LoadedStep): SuiteProblem[] {
  const { expect } = data
  if (!isObject(expect)) return []
  const problems = [...walkJson(expect)].flatMap(({ value, path }) =>
    isObject(value) ? operatorProblems(value as JsonObject, ['expect', ...path], at) : [],
  )
  for (const reason of [expect.reason ?? []].flat()) {
    if (typeof reason !== 'string' || reason.includes('{{') || Object.hasOwn(reasonCodes, reason)) continue
    const isAccept = isListed(acceptCodes, reason)
    const message = `${reason} is not ${isAccept ? 'the reason_code of an error' : 'a reason_code'}.`
    const hint = isAccept
      ? `Accepted beacons have it: body: { reason_code: ${reason} }`
      : suggestion(reason, Object.keys(reasonCodes))
    problems.push({ place: at(['expect', 'reason']), message, hint })
  }
  return problems
}

function operatorProblems(value: JsonObject, path: Path, at: LoadedStep['at']): SuiteProblem[] {
  const names = Object.keys(value)
  if (!names.some((name) => name.startsWith('$'))) return []
  return names.flatMap((name) => {
    const operator = findEntry(operators, name)
    if (operator === undefined) {
      const message = name.startsWith('$') ? `${name} is not an operator.` : `${name} is a field among operators.`
      return [{ place: at([...path, name]), message, hint: suggestion(name, Object.keys(operators)) }]
    }
    const problem = operator.problem?.(value[name]!) ?? null
    return problem === null ? [] : [{ place: at([...path, name]), message: `${name} ${problem}.`, hint: '' }]
  })
}
