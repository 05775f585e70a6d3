/**
 * The problems of a suite file, each with its line and column, and the name that was most likely meant. Zod's
 * issues are turned into such problems here.
 */
import { type Document, isMap, isNode, isPair, isSeq, type LineCounter, type Node } from 'yaml'
import type { z } from 'zod'
import { describeRequirement, typeWord } from '#contract/errors.ts'
import type { SourceLocation } from '#foundation/finding.ts'
import { valueAt } from '#foundation/json.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { plainLine } from '#foundation/unsafe-text.ts'

/** Something wrong in a suite file. */
export interface SuiteProblem {
  place: SourceLocation
  /** The problem, one sentence. */
  message: string
  /** The fix, one sentence. */
  hint: string
}

/** Everything that is wrong in one or several suite files. */
export class SuiteError extends Error {
  override readonly name = 'SuiteError'
  readonly problems: readonly SuiteProblem[]

  constructor(problems: readonly SuiteProblem[]) {
    // A name in the file cannot begin a line of its own.
    const shown = problems.map((each) => ({ ...each, message: plainLine(each.message), hint: plainLine(each.hint) }))
    super(shown.map(problemText).join('\n'))
    this.problems = shown
  }
}

/** `shop.yaml:12:5: Unknown field expct. Did you mean expect?` */
export function problemText({ place: { file, line, column }, message, hint }: SuiteProblem): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`
  return `${place}: ${message}${hint === '' ? '' : ` ${hint}`}`
}

type Issue = z.core.$ZodIssue

/** Returns everything that is wrong with the value at a path. */
export function findProblems(schema: z.ZodType, value: unknown, path: Path, places: Places): SuiteProblem[] {
  const parsed = schema.safeParse(value)
  if (parsed.success) return []
  return parsed.error.issues.flatMap((issue) => explainIssue(issue, { schema, value, path }, places))
}

/** A value of a suite file, and what it should be. */
interface CheckedValue {
  schema: z.ZodType
  value: unknown
  path: Path
}

function explainIssue(issue: Issue, checked: CheckedValue, places: Places): SuiteProblem[] {
  const { schema, value, path } = checked
  const inner = issue.path as (string | number)[]
  const whole = [...path, ...inner]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((name) => ({
      place: places.ofName(whole, name),
      message: `Unknown field ${name}${inner.length === 0 ? '' : ` in ${inner.join('.')}`}.`,
      hint: suggestion(name, namesIn(schemaAt(schema, inner))),
    }))
  }
  const given = valueAt(value, inner)
  const branch = issue.code === 'invalid_union' ? bestBranch(issue, given) : null
  if (branch !== null) return branch.flatMap((each) => explainIssue(each, checked, places))
  const place = places.of(whole)
  const field = inner.join('.')
  const names = listAllowed(issue)
  const isMissing = given === undefined && /^invalid_(?:type|value|union)$/.test(issue.code)
  if (names.length > 0 && isMissing)
    return [{ place, message: `${field} is missing.`, hint: `Known: ${names.join(', ')}.` }]
  if (names.length > 0) {
    const message = `${field === '' ? 'This' : field} cannot be ${JSON.stringify(given)}.`
    return [{ place, message, hint: suggestion(String(given), names) }]
  }
  const message = isMissing
    ? `${field} is missing.`
    : `${field === '' ? 'This' : field} ${describeIssue(issue, given)}.`
  return [{ place, message, hint: findDescription(schema, inner) }]
}

/** Returns what is wrong with a value, in words that follow its name. */
function describeIssue(issue: Issue, given: unknown): string {
  if (issue.message.startsWith('Invalid input: expected'))
    return `${describeRequirement(issue)}, not ${typeWord(given)}`
  if (issue.code === 'too_small' && Array.isArray(given)) return 'must not be empty'
  return issue.message.replace(/^Invalid input: /, '').replace(/\.$/, '')
}

/** Returns the allowed values, when they are named. */
function listAllowed(issue: Issue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String)
  return issue.code === 'invalid_union'
    ? issue.errors
        .flat()
        .filter((each) => each.path.length === 0)
        .flatMap(listAllowed)
    : []
}

/** Returns the issues of the branch of a union that was most likely meant, or null when the value is no object. */
function bestBranch(issue: Extract<Issue, { code: 'invalid_union' }>, given: unknown): Issue[] | null {
  if (typeof given !== 'object' || given === null) return null
  const branches = issue.errors.filter((issues) =>
    issues.every((each) => each.path.length > 0 || each.code === 'unrecognized_keys'),
  )
  const [fewest] = branches.toSorted((a, b) => a.length - b.length)
  return fewest?.map((each) => ({ ...each, path: [...issue.path, ...each.path] }) as Issue) ?? null
}

/** The structure of a zod schema, as far as suites use it. */
interface Definition {
  shape?: Record<string, z.ZodType>
  element?: z.ZodType
  valueType?: z.ZodType
  options?: z.ZodType[]
  innerType?: z.ZodType
}

function unwrapDefinition(schema: z.ZodType): Definition {
  const { def } = schema as unknown as { def: Definition }
  return def.innerType === undefined ? def : unwrapDefinition(def.innerType)
}

/** Returns the definitions of the objects, lists and records that a schema allows. */
function listBranches(schema: z.ZodType): Definition[] {
  const definition = unwrapDefinition(schema)
  return definition.options?.flatMap(listBranches) ?? [definition]
}

/** Returns the schema of a field, or undefined when it cannot be determined. */
function schemaAt(schema: z.ZodType, [name, ...rest]: Path): z.ZodType | undefined {
  if (name === undefined) return schema
  for (const { shape, element, valueType } of listBranches(schema)) {
    const field = shape?.[String(name)] ?? element ?? valueType
    if (field !== undefined) return schemaAt(field, rest)
  }
  return undefined
}

/** Returns the names of the fields of an object, or of every object of a union. */
function namesIn(schema: z.ZodType | undefined): string[] {
  return schema === undefined ? [] : listBranches(schema).flatMap(({ shape = {} }) => Object.keys(shape))
}

function findDescription(schema: z.ZodType, path: Path): string {
  const parent = path.length === 0 ? undefined : schemaAt(schema, path.slice(0, -1))
  return parent === undefined ? '' : (unwrapDefinition(parent).shape?.[String(path.at(-1))]?.description ?? '')
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
  of(path: Path): SourceLocation {
    let node: unknown = this.#document.contents
    let found = node
    for (const name of path) {
      node = findChild(node, name, this.#document)
      if (!isNode(node)) break
      found = node
    }
    return this.#at(found)
  }

  /** Returns the place of the name of a field. */
  ofName(path: Path, name: string): SourceLocation {
    let node: unknown = this.#document.contents
    for (const step of path) node = findChild(node, step, this.#document)
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isNode(key) && String(key) === name)
      if (isPair(pair) && isNode(pair.key)) return this.#at(pair.key)
    }
    return this.of(path)
  }

  offset(offset: number): SourceLocation {
    const { line, col } = this.#lines.linePos(offset)
    return { file: this.#file, line: Math.max(1, line), column: Math.max(1, col) }
  }

  #at(node: unknown): SourceLocation {
    return this.offset(isNode(node) ? ((node as Node).range?.[0] ?? 0) : 0)
  }
}

function findChild(node: unknown, name: string | number, document: Document): unknown {
  const target =
    isNode(node) && 'source' in node && 'resolve' in node
      ? (node as { resolve(doc: Document): unknown }).resolve(document)
      : node
  return isMap(target) || isSeq(target) ? target.get(name, true) : undefined
}

/** Returns what to do about an unknown name: `Did you mean x?`, or the names that there are. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const near = nearestName(word, candidates) ?? findFullName(word, candidates)
  if (near !== null) return `Did you mean ${near}?`
  return candidates.length === 0 ? 'There are none.' : `Known: ${candidates.join(', ')}.`
}

/** Returns the name that has a word as one of its own: `price` for `price_cpm`. */
function findFullName(word: string, candidates: readonly string[]): string | null {
  const found = candidates.filter((name) => name.includes('_') && name.split('_').includes(word.toLowerCase()))
  return found.length === 1 ? found[0]! : null
}

/** Returns problems in the order of the file. */
export function inOrder(problems: readonly SuiteProblem[]): SuiteProblem[] {
  return problems.toSorted((a, b) => a.place.line - b.place.line || a.place.column - b.place.column)
}
