/**
 * Loads a suite file: YAML, then its shape, then what its cases refer to: variables, operators, reason codes, types of events.
 * Reports everything wrong in it at once, before anything runs.
 */
import type { z } from 'zod'
import type { Json } from '#foundation/json.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { parseYaml } from '#yaml/parse.ts'
import {
  findProblems,
  inOrder,
  type Path,
  type Places,
  SuiteError,
  type SuiteProblem,
  suggestion,
} from '#yaml/problems.ts'
import { commonFields, requestFields, type StepData } from '../steps/step-kind.ts'
import { referenceProblems } from './references.ts'
import {
  type Axes,
  Case,
  kindNamed,
  type LoadedCase,
  type LoadedStep,
  type LoadedSuite,
  Suite,
  stepKinds,
  stepSchema,
} from './schema.ts'
import { durationMs } from './variables.ts'

/** Returns a suite. `file` is its name in messages. Throws SuiteError with everything that is wrong. */
export function loadSuite(text: string, file: string, folder: string): LoadedSuite {
  const { value, places } = parseYaml(text, file)
  return new Reader(value, places).read(file, folder)
}

/** The steps of a suite that each of its cases has, too. */
type StepsAround = Pick<LoadedCase, 'setup' | 'teardown'>
type SuiteData = z.infer<typeof Suite>
type CaseData = z.infer<typeof Case>

/** More would take minutes to plan and gigabytes to report. */
const maxCases = 10_000

class Reader {
  readonly #data: unknown
  readonly #places: Places
  readonly #problems: SuiteProblem[] = []
  #combinations = 0

  constructor(data: unknown, places: Places) {
    this.#data = data
    this.#places = places
  }

  read(file: string, folder: string): LoadedSuite {
    const whole = findProblems(Suite, this.#data, [], this.#places)
    this.#problems.push(...whole)
    const data = this.#data as Partial<SuiteData> | null
    const cases = Array.isArray(data?.cases) ? data.cases : []
    const suite = { ...(typeof data === 'object' ? data : {}), cases } as SuiteData
    const around: StepsAround = {
      setup: this.#steps(suite.setup, ['setup']),
      teardown: this.#steps(suite.teardown, ['teardown']),
    }
    const loaded = cases.flatMap((entry, index) => this.#case(entry, ['cases', index], suite, around))
    this.#duplicateNames(loaded)
    if (this.#problems.length > 0) throw new SuiteError(inOrder(this.#problems))
    return { name: suite.suite, title: suite.title, file, folder, cases: loaded }
  }

  #case(entry: unknown, path: Path, suite: SuiteData, around: StepsAround): LoadedCase[] {
    const problems = findProblems(Case, entry, path, this.#places)
    this.#problems.push(...problems)
    if (typeof entry !== 'object' || entry === null) return []
    const data = entry as CaseData
    const loaded: LoadedCase = {
      name: String(data.name),
      tags: [...list<string>(suite.tags), ...list<string>(data.tags)],
      axes: this.#axes(data.matrix, suite.matrix ?? {}, path),
      except: list(data.except),
      project: data.project ?? suite.project ?? null,
      variables: { ...suite.variables, ...data.variables },
      timeout_ms: data.timeout === undefined || problems.length > 0 ? null : durationMs(data.timeout),
      setup: [...around.setup, ...this.#steps(data.setup, [...path, 'setup'])],
      steps: this.#steps(data.steps, [...path, 'steps']),
      teardown: [...this.#steps(data.teardown, [...path, 'teardown']), ...around.teardown],
      place: this.#places.of([...path, 'name']),
    }
    this.#exceptions(loaded, path)
    this.#countCombinations(loaded, path)
    this.#problems.push(...referenceProblems(loaded, this.#places.of([...path, 'name'])))
    return [loaded]
  }

  #axes(wanted: CaseData['matrix'], known: Record<string, Json[]>, path: Path): Axes {
    if (!Array.isArray(wanted)) return typeof wanted === 'object' && wanted !== null ? wanted : {}
    return Object.fromEntries(
      wanted.flatMap((name, index) => {
        const axis = Object.hasOwn(known, name) ? known[name] : undefined
        if (axis !== undefined) return [[name, axis] as const]
        const hint = suggestion(name, Object.keys(known))
        this.#report([...path, 'matrix', index], `The suite has no matrix named ${name}.`, hint)
        return []
      }),
    )
  }

  #exceptions({ except, axes }: LoadedCase, path: Path): void {
    for (const [index, combination] of except.entries()) {
      for (const name of Object.keys(combination)) {
        if (Object.hasOwn(axes, name)) continue
        const place = this.#places.ofName([...path, 'except', index], name)
        const hint = suggestion(name, Object.keys(axes))
        this.#problems.push({ place, message: `This case has no matrix named ${name}.`, hint })
      }
    }
  }

  /** A few values on each of a few axes are more cases than fit in memory. */
  #countCombinations({ axes }: LoadedCase, path: Path): void {
    const lengths = Object.values(axes).map((values) => values.length)
    const own = lengths.reduce((product, length) => product * length, 1)
    const before = this.#combinations
    this.#combinations += own
    if (before > maxCases || this.#combinations <= maxCases) return
    const factors = lengths.length > 1 ? ` (${lengths.join(' x ')})` : ''
    const message =
      own > maxCases
        ? `This matrix makes ${own.toLocaleString('en')} cases${factors}.`
        : `This matrix brings the suite to ${this.#combinations.toLocaleString('en')} cases.`
    this.#report(
      [...path, 'matrix'],
      message,
      `A suite may have at most ${maxCases.toLocaleString('en')}: leave out values or axes.`,
    )
  }

  #steps(entries: unknown, path: Path): LoadedStep[] {
    return list(entries).flatMap((entry, index) => this.#step(entry, [...path, index]))
  }

  #step(entry: unknown, path: Path): LoadedStep[] {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
      this.#report(path, 'A step must be an object.', 'For example: { placement: { format: banner } }')
      return []
    }
    const names = Object.keys(entry)
    const actions = names.filter((name) => kindNamed(name) !== undefined)
    if (actions.length !== 1) {
      this.#report(path, ...actionProblem(names, actions))
      return []
    }
    const kind = kindNamed(actions[0]!)!
    this.#problems.push(...findProblems(stepSchema(kind.name), entry, path, this.#places))
    const places = this.#places
    return [{ kind, data: entry as StepData, place: places.of(path), at: (inner) => places.of([...path, ...inner]) }]
  }

  #duplicateNames(cases: readonly LoadedCase[]): void {
    for (const [index, { name, place }] of cases.entries()) {
      if (!cases.slice(0, index).some((other) => other.name === name)) continue
      this.#problems.push({ place, message: `There is already a case named "${name}".`, hint: 'Give it another name.' })
    }
  }

  #report(path: Path, message: string, hint: string): void {
    this.#problems.push({ place: this.#places.of(path), message, hint })
  }
}

function actionProblem(names: readonly string[], actions: readonly string[]): [message: string, hint: string] {
  if (actions.length > 1) {
    const message = `A step has one action; this one has ${actions.length}: ${actions.join(', ')}.`
    return [message, 'Make each its own step.']
  }
  const kinds = stepKinds.map((kind) => kind.name)
  const others = names.filter((name) => !Object.hasOwn(commonFields, name) && !Object.hasOwn(requestFields, name))
  const slip = others.map((name) => nearestName(name, kinds)).find((name) => name !== null)
  if (slip !== undefined) return [`${others.join(', ')} is not an action.`, `Did you mean ${slip}?`]
  return ['This step has no action.', `Known: ${kinds.join(', ')}.`]
}

function list<T = unknown>(value: unknown): T[] {
  return Array.isArray(value) ? (value as T[]) : []
}
