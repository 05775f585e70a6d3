/**
 * A collection as an `.http` file, which editors send. They agree on requests and variables, and differ in how a request
 * gets a value of an earlier response: JetBrains IDEs and httpYac run handlers in JavaScript, the REST Client of Visual
 * Studio Code has references to named requests. Neither reads the form of the other.
 */
import { findEntry } from '#foundation/table-entry.ts'
import type { Collection, CollectionFolder, CollectionRequest, Field } from './collection.ts'
import { bodyValue, indent, laterName, laterValue, literal, replaceVariables, usesLater } from './scripts.ts'

type HttpDialect = 'handlers' | 'references'

/** The dynamic variables of a dialect. */
const dynamicVariables = {
  handlers: { new_id: '$uuid', now: '$isoTimestamp' },
  references: { new_id: '$guid', now: '$datetime iso8601', [laterName]: '$datetime iso8601 1 s' },
} satisfies Record<HttpDialect, Readonly<Record<string, string>>>

/** The request, and the path in its response, that a variable is from. */
type Origins = ReadonlyMap<string, { id: string; path: string }>

/** Returns the text of the file. */
export function writeHttpFile(collection: Collection, dialect: HttpDialect): string {
  const { name, about, variables, folders } = collection
  const requests = folders.flatMap((folder) => folder.requests)
  const origins: Origins = new Map(
    requests.flatMap(({ id, captured }) =>
      Object.entries(captured).map(([variable, path]) => [variable, { id, path }]),
    ),
  )
  const settings = variables.filter(({ set_by }) => set_by === null)
  const write = (text: string) => replaceVariables(text, (name) => `{{${reference(name, dialect, origins)}}}`)
  return [
    ...comment([name, '', ...about.split(/\n|(?<=[.:]) /), '', ...tools[dialect].split(/(?<=\.) /)]),
    '',
    ...settings.flatMap(({ name, value, about, is_secret }) => [
      ...comment([is_secret ? `${about} Secret.` : about]),
      `@${name} = ${value}`,
    ]),
    '',
    ...folders.flatMap((folder) => folderLines(folder, { dialect, write, origins })),
  ].join('\n')
}

const tools: Readonly<Record<HttpDialect, string>> = {
  handlers: 'For JetBrains IDEs and httpYac. For the REST Client of Visual Studio Code: svc openapi --for rest-client',
  references: 'For the REST Client of Visual Studio Code. For JetBrains IDEs and httpYac: svc openapi --for http',
}

function reference(name: string, dialect: HttpDialect, origins: Origins): string {
  const dynamic = findEntry<string>(dynamicVariables[dialect], name)
  if (dynamic !== undefined) return dynamic
  const origin = origins.get(name)
  if (origin === undefined || dialect === 'handlers') return name
  return `${origin.id}.response.body.$.${origin.path.replace(/\.(\d+)/g, '[$1]')}`
}

interface Writing {
  dialect: HttpDialect
  write: (text: string) => string
  origins: Origins
}

function folderLines({ name, about, requests }: CollectionFolder, writing: Writing): string[] {
  return [
    '###',
    ...comment([name, ...about.split(/(?<=\.) /)]),
    '',
    ...requests.flatMap((request) => requestLines(request, writing)),
  ]
}

function requestLines(request: CollectionRequest, { dialect, write, origins }: Writing): string[] {
  const { id, name, method, path, query, headers, bearer, body, is_poll } = request
  const sent = query.filter(({ is_sent }) => is_sent).map(({ name, value }) => `${name}=${value}`)
  const url = write(`{{base_url}}${path}${sent.length === 0 ? '' : `?${sent.join('&')}`}`)
  const rows: Field[] = [
    ...(bearer === null ? [] : [field('Authorization', `Bearer {{${bearer}}}`)]),
    ...(body === null ? [] : [field('Content-Type', 'application/json')]),
    ...headers,
  ]
  const unsent = rows.filter(({ is_sent }) => !is_sent).map(({ name, value }) => `Or with ${name}: ${value}`)
  const needed = dialect === 'handlers' ? neededRequests(request, origins).map((each) => `@ref ${each}`) : []
  return [
    `### ${name}`,
    ...comment([
      ...unsent,
      ...(is_poll ? ['While the status is pending, send it again.'] : []),
      `@name ${id}`,
      ...needed,
    ]),
    ...(dialect === 'handlers' && usesLater(request)
      ? [`< {% request.variables.set("${laterName}", ${laterValue}) %}`]
      : []),
    `${method} ${url}`,
    ...rows.filter(({ is_sent }) => is_sent).map(({ name, value }) => `${name}: ${write(value)}`),
    '',
    ...(body === null ? [] : [...write(JSON.stringify(body, null, 2)).split('\n'), '']),
    ...(dialect === 'handlers' ? [...handlerLines(request), ''] : []),
  ]
}

function field(name: string, value: string): Field {
  return { name, value, is_sent: true, about: '' }
}

/** Returns the requests whose responses it needs: httpYac sends them first. */
function neededRequests(request: CollectionRequest, origins: Origins): string[] {
  const { path, query, headers, bearer, body } = request
  const used = JSON.stringify([path, query.filter(({ is_sent }) => is_sent), headers, `{{${bearer}}}`, body])
  return [...new Set([...origins].flatMap(([name, { id }]) => (used.includes(`{{${name}}}`) ? [id] : [])))]
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
