/**
 * What breaks clients between two OpenAPI documents of the contract, and whether the changelog names it. The other
 * document is that of the last tag.
 */
import { isObject, type Json, type JsonObject } from '#foundation/json.ts'
import { type ContractChange, compareSchemas, type Direction, objectAt } from './schema-changes.ts'

/** The document of a release. */
export interface ReleasedContract {
  version: string
  document: JsonObject
}

/** Returns every change from one document to another that breaks clients, each once, in the order of the first document. */
export function findBreakingChanges(before: JsonObject, after: JsonObject): ContractChange[] {
  const compared = new Set<string>()
  const found = ['paths', 'x-websockets'].flatMap((part) =>
    Object.entries(objectAt(before, part)).flatMap(([path, item]) =>
      Object.entries(isObject(item) ? item : {}).flatMap(([method, operation]) => {
        const place = `${method.toUpperCase()} ${path}`
        const now = objectAt(objectAt(after, part), path)[method]
        if (now === undefined) return [{ place, problem: 'is gone' }]
        return compareOperations({ place, documents: { before, after }, compared }, operation, now)
      }),
    ),
  )
  const seen = new Set<string>()
  return found.filter(({ place, problem }) => {
    const text = `${place} ${problem}`
    return !seen.has(text) && seen.add(text)
  })
}

/**
 * Returns the changes that a changelog does not name, in the sections newer than a version. A change is named by its place, or
 * by the beginning of it, such as the endpoint or the object, in backquotes on a line that begins with `- Contract:`.
 */
export function unnamedChanges(
  changes: readonly ContractChange[],
  changelog: string,
  version: string,
): ContractChange[] {
  const [newer = ''] = changelog.split(`\n## ${version}`)
  const lines = newer.split('\n- ').filter((entry) => entry.startsWith('Contract:'))
  const names = lines.flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
  return changes.filter(({ place }) => !names.some((name) => isWithin(place, name)))
}

function isWithin(place: string, name: string): boolean {
  return place === name || (place.startsWith(name) && /^[ .[|]/.test(place.slice(name.length)))
}

/** Returns changes as a message that says what to do. */
export function describeChanges(changes: readonly ContractChange[]): string {
  return [
    `${changes.length} changes of the contract break clients of the last release, and docs/changelog.md does not name them:`,
    ...changes.map(({ place, problem }) => `  ${place}: ${problem}`),
    'Undo them, or name each place, or what it is part of, under "Unreleased": - Contract: `PLACE` ...',
  ].join('\n')
}

interface Context {
  place: string
  documents: { before: JsonObject; after: JsonObject }
  compared: Set<string>
}

function compareOperations(context: Context, before: Json, after: Json): ContractChange[] {
  return [
    ...compareSecurity(context, before, after),
    ...compareParameters(context, before, after),
    ...compareBodies(context, before, after),
    ...compareResponses(context, before, after),
  ]
}

/** Each way to authenticate that was enough before must be enough now. */
function compareSecurity({ place }: Context, before: Json, after: Json): ContractChange[] {
  const [ours, theirs] = [before, after].map((operation) =>
    listAt(operation, 'security').map((row) => Object.keys(row)),
  )
  if (theirs === undefined || theirs.length === 0) return []
  const refused = (ours?.length === 0 ? [[]] : (ours ?? [])).filter(
    (known) => !theirs.some((alternative) => alternative.every((scheme) => known.includes(scheme))),
  )
  return refused.map((known) => ({ place, problem: `${known.join(' and ') || 'no credential'} is no longer enough` }))
}

function compareParameters(context: Context, before: Json, after: Json): ContractChange[] {
  const [ours, theirs] = [parametersOf(before), parametersOf(after)]
  const change = (name: string, problem: string) => [{ place: `${context.place} ${name}`, problem }]
  const added = Object.entries(theirs).flatMap(([name, { required }]) =>
    required === true && ours[name]?.required !== true ? change(name, 'is required now') : [],
  )
  const others = Object.entries(ours).flatMap(([name, { schema }]) => {
    const now = theirs[name]
    if (now === undefined) return change(name, 'is gone')
    return compare({ ...context, place: `${context.place} ${name}` }, 'request', schema, now.schema)
  })
  return [...added, ...others]
}

function parametersOf(operation: Json): Record<string, JsonObject> {
  return Object.fromEntries(listAt(operation, 'parameters').map((each) => [`${each.in} ${each.name}`, each]))
}

function compareBodies(context: Context, before: Json, after: Json): ContractChange[] {
  const [ours, theirs] = [objectAt(before, 'requestBody'), objectAt(after, 'requestBody')]
  const place = `${context.place} body`
  if (theirs.required === true && ours.required !== true) return [{ place, problem: 'is required now' }]
  return compareContents({ ...context, place }, 'request', [ours, theirs])
}

function compareResponses(context: Context, before: Json, after: Json): ContractChange[] {
  const [ours, theirs] = [objectAt(before, 'responses'), objectAt(after, 'responses')]
  return Object.entries(ours).flatMap(([status, response]) => {
    const place = `${context.place} ${status}`
    const now = theirs[status]
    if (now === undefined) return [{ place, problem: 'is gone' }]
    const headers = Object.keys(objectAt(response, 'headers')).filter((name) => !(name in objectAt(now, 'headers')))
    return [
      ...headers.map((name) => ({ place: `${place} header ${name}`, problem: 'is gone' })),
      ...compareContents({ ...context, place: `${place} body` }, 'response', [response, now]),
    ]
  })
}

function compareContents(context: Context, direction: Direction, [before, after]: [Json, Json]): ContractChange[] {
  const theirs = objectAt(after, 'content')
  return Object.entries(objectAt(before, 'content')).flatMap(([type, content]) => {
    const now = theirs[type]
    if (now === undefined) return [{ place: context.place, problem: `${type} is gone` }]
    return compare(context, direction, isObject(content) ? content.schema : undefined, objectAt(theirs, type).schema)
  })
}

function compare(context: Context, direction: Direction, before: Json | undefined, after: Json | undefined) {
  const { place, documents, compared } = context
  return compareSchemas({
    direction,
    place,
    compared,
    before: { schema: before, document: documents.before },
    after: { schema: after, document: documents.after },
  })
}

function listAt(value: Json, field: string): JsonObject[] {
  const found = isObject(value) ? value[field] : undefined
  return Array.isArray(found) ? found.flatMap((each) => (isObject(each) ? [each] : [])) : []
}
