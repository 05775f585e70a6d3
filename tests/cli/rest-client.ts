/**
 * Sends the requests of an .http file in order, as the REST Client of Visual Studio Code does by its documentation: what
 * is between `###` is a request, comment lines are left out, `@name = value` is a variable of the file,
 * `{{request.response.body.$.path}}` refers to the response of a named request. The extension itself runs only in its editor.
 */
import { randomUUID } from 'node:crypto'
import { type Json, valueAt } from '#foundation/json.ts'

export interface SentRequest {
  name: string
  line: string
  status: number
  body: Json
}

/** Sends every request of a file. @throws Error for a variable that has no value */
export async function sendHttpFile(text: string): Promise<SentRequest[]> {
  const sent: SentRequest[] = []
  for (const block of text.split(/^###.*$/m).slice(1)) {
    const name = /^# @name (\w+)$/m.exec(block)?.[1] ?? ''
    const lines = block
      .split('\n')
      .filter((line) => !/^\s*(#|\/\/)/.test(line))
      .join('\n')
      .trim()
    if (lines === '') continue
    const [head = '', ...body] = resolveVariables(lines, text, sent).split(/\n\n/)
    const [line = '', ...headers] = head.split('\n')
    const [method = '', url = ''] = line.split(' ')
    const response = await fetch(url, {
      method,
      headers: headers.map((header): [string, string] => [header.split(':', 1)[0]!, header.replace(/^[^:]*: */, '')]),
      ...(body.length === 0 ? {} : { body: body.join('\n\n') }),
    })
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    sent.push({ name, line, status: response.status, body: isJson ? await response.json() : await response.text() })
  }
  return sent
}

function resolveVariables(text: string, file: string, sent: readonly SentRequest[]): string {
  return text.replace(/{{([^}]+)}}/g, (reference, name: string) => {
    const value = findValue(name, file, sent)
    if (typeof value !== 'string') throw new Error(`${reference} has no value`)
    return value
  })
}

function findValue(name: string, file: string, sent: readonly SentRequest[]): Json | undefined {
  if (name === '$guid') return randomUUID()
  const [, offset_s = '0'] = /^\$datetime iso8601(?: (\d+) s)?$/.exec(name) ?? []
  if (name.startsWith('$datetime ')) return new Date(Date.now() + Number(offset_s) * 1_000).toISOString()
  const [, request, path = ''] = /^(\w+)\.response\.body\.\$\.(.+)$/.exec(name) ?? []
  const response = sent.find((each) => each.name === request)
  if (request !== undefined) return valueAt(response?.body, path.replace(/\[(\d+)\]/g, '.$1'))
  return new RegExp(`^@${name} = (.*)$`, 'm').exec(file)?.[1]
}
