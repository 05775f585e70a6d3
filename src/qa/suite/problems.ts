/**
 * What is wrong in a suite file: each problem with its line and column, and the name that was most likely meant. Zod's
 * issues are turned into such problems here.
 */
import { type Document, isMap, isNode, isPair, isSeq, type LineCounter, type Node } from 'yaml'
import type { z } from 'zod'
import { nearestName } from '../../foundation/nearest-name.ts'
import type { Place } from '../result.ts'

/** Something wrong in a suite file. */
export interface SuiteProblem {
  place: Place
  /** What is wrong, as a sentence. */
  message: string
  /** What to do. */
  hint: string
}

/** Everything that is wrong in one or several suite files. */
export class SuiteError extends Error {
  override readonly name = 'SuiteError'
  readonly problems: readonly SuiteProblem[]

  constructor(problems: readonly SuiteProblem[]) {
    super(problems.map(problemText).join('\n'))
    this.problems = problems
  }
}

/** `shop.yaml:12:5: Unknown field expct. Did you mean expect?` */
export function problemText({ place: { file, line, column }, message, hint }: SuiteProblem): string {
  return `${file}:${line}:${column}: ${message}${hint === '' ? '' : ` ${hint}`}`
}

type Issue = z.core.$ZodIssue

/** Returns everything that is wrong with the value at a path. */
export function problemsOf(schema: z.ZodType, value: unknown, path: Path, places: Places): SuiteProblem[] {
  const parsed = schema.safeParse(value)
  if (parsed.success) return []
  return parsed.error.issues.flatMap((issue) => problemOf(issue, schema, value, path, places))
}

function problemOf(issue: Issue, schema: z.ZodType, value: unknown, path: Path, places: Places): SuiteProblem[] {
  const inner = issue.path as (string | number)[]
  const whole = [...path, ...inner]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((name) => ({
      place: places.ofName(whole, name),
      message: `Unknown field ${name}${inner.length === 0 ? '' : ` in ${inner.join('.')}`}.`,
      hint: suggestion(name, namesIn(schemaAt(schema, inner, value))),
    }))
  }
  if (issue.code === 'invalid_union') {
    const deeper = bestBranch(issue, valueAt(value, inner))
    if (deeper !== null) {
      return deeper.issues.flatMap((each) => problemOf(each, deeper.schema ?? schema, value, path, places))
    }
  }
  const field = inner.join('.')
  const isMissing = issue.code === 'invalid_type' && valueAt(value, inner) === undefined
  if (isMissing)
    return [{ place: places.of(whole), message: `${field} is missing.`, hint: descriptionOf(schema, inner, value) }]
  const wrong = issue.message.replace(/^Invalid input: /, '').replace(/\.$/, '')
  const names = namesOf(issue)
  const given = valueAt(value, inner)
  const sentence = names.length > 0 ? `cannot be ${JSON.stringify(given)}` : wrong
  return [
    {
      place: places.of(whole),
      message: `${field === '' ? 'This' : field} ${sentence}.`,
      hint: names.length > 0 ? suggestion(String(given), names) : descriptionOf(schema, inner, value),
    },
  ]
}

/** Returns the allowed values, when they are named. */
function namesOf(issue: Issue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String)
  return issue.code === 'invalid_union'
    ? issue.errors
        .flat()
        .filter((each) => each.path.length === 0)
        .flatMap(namesOf)
    : []
}

/** Returns the issues of the branch of a union that was most likely meant: one for an object when it is an object. */
function bestBranch(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  given: unknown,
): { issues: Issue[]; schema?: z.ZodType } | null {
  if (typeof given !== 'object' || given === null) return null
  const branches = issue.errors.filter((issues) =>
    issues.every((each) => each.path.length > 0 || each.code === 'unrecognized_keys'),
  )
  const [fewest] = branches.toSorted((a, b) => a.length - b.length)
  if (fewest === undefined) return null
  return { issues: fewest.map((each) => ({ ...each, path: [...issue.path, ...each.path] }) as Issue) }
}

/** Returns the schema of a field, or undefined when it cannot be determined. */
function schemaAt(
  schema: z.ZodType | undefined,
  path: readonly (string | number)[],
  value: unknown,
): z.ZodType | undefined {
  const [name, ...rest] = path
  const plain = unwrap(schema)
  if (plain === undefined || name === undefined) return plain
  for (const branch of branchesOf(plain)) {
    const { def } = branch as unknown as {
      def: { shape?: Record<string, z.ZodType>; element?: z.ZodType; valueType?: z.ZodType }
    }
    const field = def.shape?.[String(name)] ?? def.element ?? def.valueType
    if (field !== undefined) return schemaAt(field, rest, valueAt(value, [name]))
  }
  return undefined
}

/** Returns the names of the fields of an object, or of every object of a union. */
function namesIn(schema: z.ZodType | undefined): string[] {
  if (schema === undefined) return []
  return branchesOf(schema).flatMap((branch) =>
    Object.keys((branch as unknown as { def: { shape?: object } }).def.shape ?? {}),
  )
}

function branchesOf(schema: z.ZodType): z.ZodType[] {
  const plain = unwrap(schema)!
  const { options } = (plain as unknown as { def: { options?: z.ZodType[] } }).def
  return options === undefined ? [plain] : options.flatMap(branchesOf)
}

function unwrap(schema: z.ZodType | undefined): z.ZodType | undefined {
  const inner = (schema as unknown as { def?: { innerType?: z.ZodType } } | undefined)?.def?.innerType
  return inner === undefined ? schema : unwrap(inner)
}

function descriptionOf(schema: z.ZodType, path: readonly (string | number)[], value: unknown): string {
  if (path.length === 0) return ''
  const parent = unwrap(schemaAt(schema, path.slice(0, -1), value))
  const { shape } = (parent as unknown as { def?: { shape?: Record<string, z.ZodType> } } | undefined)?.def ?? {}
  return shape?.[String(path.at(-1))]?.description ?? ''
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[name] : undefined,
    value,
  )
}

export type Path = readonly (string | number)[]

export class Places {
  readonly #document: Document
  readonly #lines: LineCounter
  readonly #file: string

  constructor(document: Document, lines: LineCounter, file: string) {
    this.#document = document
    this.#lines = lines
    this.#file = file
  }

  /** Returns the place of a value, or of the innermost value around it that exists. */
  of(path: Path): Place {
    let node: unknown = this.#document.contents
    let found = node
    for (const name of path) {
      node = childOf(node, name, this.#document)
      if (!isNode(node)) break
      found = node
    }
    return this.#at(found)
  }

  /** Returns the place of the name of a field. */
  ofName(path: Path, name: string): Place {
    let node: unknown = this.#document.contents
    for (const step of path) node = childOf(node, step, this.#document)
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isNode(key) && String(key) === name)
      if (isPair(pair) && isNode(pair.key)) return this.#at(pair.key)
    }
    return this.of(path)
  }

  offset(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset)
    return { file: this.#file, line: Math.max(1, line), column: Math.max(1, col) }
  }

  #at(node: unknown): Place {
    return this.offset(isNode(node) ? ((node as Node).range?.[0] ?? 0) : 0)
  }
}

function childOf(node: unknown, name: string | number, document: Document): unknown {
  const target =
    isNode(node) && 'source' in node && 'resolve' in node
      ? (node as { resolve(doc: Document): unknown }).resolve(document)
      : node
  return isMap(target) || isSeq(target) ? target.get(name, true) : undefined
}

/** Returns what to do about an unknown name: `Did you mean x?`, or the names that there are. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const near = nearestName(word, candidates)
  if (near !== null) return `Did you mean ${near}?`
  return candidates.length === 0 ? 'There is none.' : `There is: ${candidates.join(', ')}.`
}
