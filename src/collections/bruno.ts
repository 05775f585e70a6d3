/** A collection as a folder of Bruno: a file for each request, in its own language. */
import { findEntry } from '#foundation/table-entry.ts'
import type { Collection, CollectionFolder, CollectionRequest, Field, Variable } from './collection.ts'
import { bodyValue, indent, laterName, laterValue, literal, maxPolls, replaceVariables, usesLater } from './scripts.ts'

/** The variable of the file `.env` that has the value of a secret: it is in no other file of the folder. */
const secretNames: Readonly<Record<string, string>> = {
  secret_key: 'SVC_SECRET_KEY',
  control_token: 'SVC_CONTROL_TOKEN',
}

/** Returns the texts of the files by their paths, with forward slashes. */
export function writeBruno({ name, about, variables, folders }: Collection): Map<string, string> {
  const settings = variables.filter(({ set_by }) => set_by === null)
  const manifest = { version: '1', name, type: 'collection', ignore: ['node_modules', '.git'] }
  const files: [string, string][] = [
    ['bruno.json', `${JSON.stringify(manifest, null, 2)}\n`],
    [
      'collection.bru',
      document([block('vars:pre-request', settings.map(variableLine)), block('docs', about.split('\n'))]),
    ],
    ['environments/sandbox.bru', document([block('vars', settings.map(variableLine))])],
    ['.env', secretLines(settings)],
    ['.gitignore', '.env\n'],
  ]
  return new Map([...files, ...folders.flatMap(folderFiles)])
}

function folderFiles({ name, about, requests }: CollectionFolder, index: number): [string, string][] {
  const folder = fileName(index, name)
  const meta = block('meta', [`name: ${name}`, `seq: ${index + 1}`])
  return [
    [`${folder}/folder.bru`, document([meta, block('docs', [about])])],
    ...requests.map((request, position): [string, string] => [
      `${folder}/${fileName(position, request.name)}.bru`,
      requestFile(request, position + 1),
    ]),
  ]
}

function fileName(index: number, name: string): string {
  return `${index + 1} ${name.replaceAll(',', '')}`
}

function requestFile(request: CollectionRequest, seq: number): string {
  const { name, about, method, path, query, headers, bearer, body } = request
  const sent = query.filter(({ is_sent }) => is_sent).map(({ name, value }) => `${name}=${value}`)
  const url = `{{base_url}}${path}${sent.length === 0 ? '' : `?${sent.join('&')}`}`
  const before = usesLater(request) ? [`bru.setVar('${laterName}', ${laterValue});`] : []
  return document([
    block('meta', [`name: ${name}`, 'type: http', `seq: ${seq}`]),
    block(method.toLowerCase(), [
      `url: ${url}`,
      `body: ${body === null ? 'none' : 'json'}`,
      `auth: ${bearer === null ? 'none' : 'bearer'}`,
    ]),
    block('params:query', query.map(fieldLine)),
    block('headers', headers.map(fieldLine)),
    block('auth:bearer', bearer === null ? [] : [`token: {{${bearer}}}`]),
    block('body:json', body === null ? [] : withDynamicVariables(JSON.stringify(body, null, 2)).split('\n')),
    block('script:pre-request', before),
    block('script:post-response', captureLines(request)),
    block('tests', testLines(request)),
    block('docs', docsLines(about, request)),
  ])
}

/** Returns a block of the language; none without lines. */
function block(name: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [`${name} {`, ...indent(lines), '}', ''].join('\n')
}

function document(blocks: readonly string[]): string {
  return blocks.filter((text) => text !== '').join('\n')
}

function variableLine({ name, value }: Variable): string {
  const secret = findEntry(secretNames, name)
  return `${name}: ${secret === undefined ? value : `{{process.env.${secret}}}`}`
}

function secretLines(variables: readonly Variable[]): string {
  return variables
    .flatMap(({ name, value }) => {
      const secret = findEntry(secretNames, name)
      return secret === undefined ? [] : [`${secret}=${value}\n`]
    })
    .join('')
}

function fieldLine({ name, value, is_sent }: Field): string {
  return `${is_sent ? '' : '~'}${name}: ${value}`
}

function withDynamicVariables(text: string): string {
  const own: Readonly<Record<string, string>> = { new_id: '$guid', now: '$isoTimestamp' }
  return replaceVariables(text, (name) => `{{${findEntry(own, name) ?? name}}}`)
}

/** A pending decision sends the request again. */
function captureLines({ name, is_json, captured, is_poll }: CollectionRequest): string[] {
  if (!is_json) return []
  const lines = Object.entries(captured).map(
    ([variable, path]) => `bru.setVar('${variable}', ${bodyValue(path)} ?? '');`,
  )
  const poll = [
    `const polls = body.status === 'pending' ? Number(bru.getVar('polls') ?? 0) + 1 : 0;`,
    `bru.setVar('polls', polls);`,
    `if (polls > 0 && polls < ${maxPolls}) bru.runner.setNextRequest('${name}');`,
  ]
  const all = [...lines, ...(is_poll ? poll : [])]
  return all.length === 0 ? [] : ['const body = res.getBody();', ...all]
}

function testLines({ status, is_json, expected, is_poll }: CollectionRequest): string[] {
  const lines = [`test('The status is ${status}', () => expect(res.getStatus()).to.equal(${status}));`]
  const checks = Object.entries(expected).map(
    ([path, value]) => `test('${path} is ${value}', () => expect(${bodyValue(path)}).to.equal(${literal(value)}));`,
  )
  if (!is_json || checks.length === 0) return lines
  const isOver = [
    `if (body.status !== 'pending' || Number(bru.getVar('polls')) >= ${maxPolls}) {`,
    ...indent(checks),
    '}',
  ]
  return [...lines, 'const body = res.getBody();', ...(is_poll ? isOver : checks)]
}

function docsLines(about: string, { responses }: CollectionRequest): string[] {
  const examples = Object.entries(responses).flatMap(([name, body]) => [
    '',
    `Example of a response, ${name.replaceAll('_', ' ')}:`,
    '```json',
    ...JSON.stringify(body, null, 2).split('\n'),
    '```',
  ])
  return [...about.split('\n'), ...examples]
}
