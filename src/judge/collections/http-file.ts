/**
 * A collection as an `.http` file for JetBrains IDEs and httpYac: a request gets a value of an earlier response by a handler in
 * JavaScript.
 */
import { findEntry } from '#foundation/table-entry.ts'
import type { Collection, CollectionFolder, CollectionRequest, Field } from './collection.ts'
import { bodyValue, indent, laterName, laterValue, literal, replaceVariables, usesLater } from './scripts.ts'

const dynamicVariables: Readonly<Record<string, string>> = { new_id: '$uuid', now: '$isoTimestamp' }

/** The request that a variable is from. */
type Origins = ReadonlyMap<string, string>

/** Returns the text of the file. */
export function writeHttpFile(collection: Collection): string {
  const { name, about, variables, folders } = collection
  const requests = folders.flatMap((folder) => folder.requests)
  const origins: Origins = new Map(
    requests.flatMap(({ id, captured }) => Object.keys(captured).map((variable) => [variable, id])),
  )
  const settings = variables.filter(({ set_by }) => set_by === null)
  return [
    ...comment([name, '', ...about.split(/\n|(?<=[.:]) /)]),
    '',
    ...settings.flatMap(({ name, value, about, is_secret }) => [
      ...comment([is_secret ? `${about} Secret.` : about]),
      `@${name} = ${value}`,
    ]),
    '',
    ...folders.flatMap((folder) => folderLines(folder, origins)),
  ].join('\n')
}

function write(text: string): string {
  return replaceVariables(text, (name) => `{{${findEntry(dynamicVariables, name) ?? name}}}`)
}

function folderLines({ name, about, requests }: CollectionFolder, origins: Origins): string[] {
  return [
    '###',
    ...comment([name, ...about.split(/(?<=\.) /)]),
    '',
    ...requests.flatMap((request) => requestLines(request, origins)),
  ]
}

function requestLines(request: CollectionRequest, origins: Origins): string[] {
  const { id, name, method, path, query, headers, bearer, body, is_poll } = request
  const sent = query.filter(({ is_sent }) => is_sent).map(({ name, value }) => `${name}=${value}`)
  const url = write(`{{base_url}}${path}${sent.length === 0 ? '' : `?${sent.join('&')}`}`)
  const rows: Field[] = [
    ...(bearer === null ? [] : [field('Authorization', `Bearer {{${bearer}}}`)]),
    ...(body === null ? [] : [field('Content-Type', 'application/json')]),
    ...headers,
  ]
  const unsent = rows.filter(({ is_sent }) => !is_sent).map(({ name, value }) => `Or with ${name}: ${value}`)
  const needed = neededRequests(request, origins).map((each) => `@ref ${each}`)
  return [
    `### ${name}`,
    ...comment([
      ...unsent,
      ...(is_poll ? ['While the status is pending, send it again.'] : []),
      `@name ${id}`,
      ...needed,
    ]),
    ...(usesLater(request) ? [`< {% request.variables.set("${laterName}", ${laterValue}) %}`] : []),
    `${method} ${url}`,
    ...rows.filter(({ is_sent }) => is_sent).map(({ name, value }) => `${name}: ${write(value)}`),
    '',
    ...(body === null ? [] : [...write(JSON.stringify(body, null, 2)).split('\n'), '']),
    ...handlerLines(request),
    '',
  ]
}

function field(name: string, value: string): Field {
  return { name, value, is_sent: true, about: '' }
}

/** Returns the requests whose responses it needs: httpYac sends them first. */
function neededRequests(request: CollectionRequest, origins: Origins): string[] {
  const { path, query, headers, bearer, body } = request
  const used = JSON.stringify([path, query.filter(({ is_sent }) => is_sent), headers, `{{${bearer}}}`, body])
  return [...new Set([...origins].flatMap(([name, id]) => (used.includes(`{{${name}}}`) ? [id] : [])))]
}

function handlerLines({ status, is_json, captured, expected }: CollectionRequest): string[] {
  const checks = [
    assertion(`The status is ${status}`, 'response.status', status),
    ...Object.entries(expected).map(([path, value]) => assertion(`${path} is ${value}`, bodyValue(path), value)),
  ]
  const sets = Object.entries(captured).map(([name, path]) => `client.global.set("${name}", ${bodyValue(path)})`)
  const needsBody = is_json && checks.length + sets.length > 1
  return ['> {%', ...indent([...(needsBody ? ['const body = response.body'] : []), ...checks, ...sets]), '%}']
}

function assertion(name: string, actual: string, expected: unknown): string {
  return `client.test("${name}", () => client.assert(${actual} === ${literal(expected)}, \`is \${${actual}}\`))`
}

/** Returns comment lines; an empty line is an empty comment. */
function comment(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '#' : `# ${line}`))
}
