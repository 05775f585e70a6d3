/**
 * A call of the API as code to paste: a curl command, TypeScript with the typed client, Python without any package. It
 * never contains keys: they come from the environment, as set by `svc sandbox env` and `svc exec`.
 */
import { curlCommand, secretKeyVariable } from '#foundation/http.ts'
import { isObject, type Json } from '#foundation/json.ts'
import { stubLines } from '#foundation/page-snippet.ts'
import type { CodeVariant } from '../../parts/Code.tsx'

export interface ExportedCall {
  /** Id of the endpoint: `placements.create`. */
  id: string
  method: string
  /** Path with its parameters filled in. */
  path: string
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: Json
  /** `browser`: with an activation token, as a page of `origin`. */
  as: 'server' | 'browser'
}

interface ExportTarget {
  base_url: string
  /** The origin of a page that the project allows. */
  origin: string
}

/** Returns a call in each language, as the variants of a set of tabs. */
export function renderExports(call: ExportedCall, target: ExportTarget): CodeVariant[] {
  return [
    { id: 'curl', title: 'curl', code: curlExport(call, target) },
    { id: 'typescript', title: 'TypeScript', code: typescriptExport(call, target) },
    { id: 'python', title: 'Python', code: pythonExport(call, target) },
  ]
}

/** Returns the curl command; for a page, preceded by the command of its activation. */
export function curlExport(
  { method, path, query, body, as }: ExportedCall,
  { base_url, origin }: ExportTarget,
): string {
  const search = new URLSearchParams(query).toString()
  const isBrowser = as === 'browser'
  const request = {
    method,
    url: base_url + path + (search && `?${search}`),
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      authorization: `Bearer ${isBrowser ? '$ACTIVATION_TOKEN' : secretKeyVariable}`,
      ...(isBrowser ? { origin } : {}),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  }
  if (!isBrowser) return curlCommand(request)
  const activation = curlCommand(
    {
      method: 'POST',
      url: `${base_url}/v1/browser/activate`,
      headers: { 'content-type': 'application/json', origin },
      body: '{"publishable_key":"$SVC_PUBLISHABLE_KEY"}',
    },
    ['$SVC_PUBLISHABLE_KEY'],
  )
  return [
    `ACTIVATION_TOKEN=$(${activation} | sed -n 's/.*"activation_token":"\\([^"]*\\)".*/\\1/p')`,
    curlCommand(request, ['$ACTIVATION_TOKEN']),
  ].join('\n')
}

/** Returns a module that calls the API with the typed client; as a page, with render.js loaded. */
export function typescriptExport(call: ExportedCall, { base_url }: ExportTarget): string {
  const { id, params, query, body, as } = call
  if (as === 'browser') return pageExport(call, base_url)
  const input = {
    ...(params && { params: { ...params } }),
    ...(query && { query: { ...query } }),
    ...(body !== undefined && { body }),
  }
  const [group, verb] = id.split('.')
  return [
    "import { createClient, ServiceError } from 'svc-sandbox/client'",
    '',
    'const client = createClient({',
    `  base_url: process.env.SVC_BASE_URL ?? ${literal(base_url)},`,
    "  credential: process.env.SVC_SECRET_KEY ?? '',",
    '})',
    '',
    'try {',
    `  const response = await client.${group}.${verb}(${indented(javascript(input), '  ')})`,
    '  console.log(JSON.stringify(response, null, 2))',
    '} catch (error) {',
    '  if (!(error instanceof ServiceError)) throw error',
    '  console.error(error.reason_code, error.hint)',
    '  process.exitCode = 1',
    '}',
    '',
  ].join('\n')
}

/** render.js activates, requests, mounts and measures: the body needs no project. */
function pageExport({ body }: ExportedCall, base_url: string): string {
  const { client_id: _, ...request } = isObject(body) ? body : {}
  return [
    `// The page has <div id="ad"></div>, and after this script <script src=${literal(`${base_url}/v1/render.js`, '"')} async></script>.`,
    ...stubLines,
    '',
    "const publishableKey = 'pk_test_...' // the publishable key of the project",
    'SponsoredPlacement.queue.push((api) => api.activate({ publishableKey }))',
    'await SponsoredPlacement.withTurn(',
    `  { target: '#ad', body: ${indented(javascript(request), '  ')} },`,
    '  async () => {',
    '    // the work of the turn',
    '  },',
    ')',
    '',
  ].join('\n')
}

/** Returns a script that needs only Python 3. */
export function pythonExport(call: ExportedCall, { base_url, origin }: ExportTarget): string {
  const { method, path, query, body, as } = call
  const search = new URLSearchParams(query).toString()
  const target = path + (search && `?${search}`)
  const isBrowser = as === 'browser'
  const lines = [
    'import json',
    'import os',
    'import urllib.error',
    'import urllib.request',
    '',
    `BASE_URL = os.environ.get("SVC_BASE_URL", ${literal(base_url, '"')})`,
    '',
    '',
    'def call(method, path, headers, body=None):',
    '    data = None if body is None else json.dumps(body).encode()',
    '    headers = {"content-type": "application/json", **headers}',
    '    request = urllib.request.Request(BASE_URL + path, data=data, headers=headers, method=method)',
    '    try:',
    '        with urllib.request.urlopen(request) as response:',
    '            return json.load(response)',
    '    except urllib.error.HTTPError as error:',
    '        raise SystemExit(f"{error.code} {error.read().decode()}")',
    '',
    '',
  ]
  if (isBrowser) {
    lines.push(
      `ORIGIN = ${literal(origin, '"')}`,
      'activation = call(',
      '    "POST", "/v1/browser/activate", {"origin": ORIGIN}, {"publishable_key": os.environ["SVC_PUBLISHABLE_KEY"]}',
      ')',
      'headers = {"origin": ORIGIN, "authorization": f"Bearer {activation[\'activation_token\']}"}',
    )
  } else lines.push('headers = {"authorization": f"Bearer {os.environ[\'SVC_SECRET_KEY\']}"}')
  const more = body === undefined ? '' : `, ${python(body)}`
  lines.push(`response = call(${literal(method, '"')}, ${literal(target, '"')}, headers${more})`)
  return `${[...lines, 'print(json.dumps(response, indent=2))'].join('\n')}\n`
}

/** Returns a text in quotes. JSON escapes are also valid in JavaScript and Python. */
function literal(text: string, quotes: '"' | "'" = "'"): string {
  const inner = JSON.stringify(text).slice(1, -1)
  if (quotes === '"') return `"${inner}"`
  // Inside a page, `</script>` would end the script.
  return `'${inner.replaceAll('\\"', '"').replaceAll("'", "\\'").replaceAll('</', '<\\/')}'`
}

/** Returns a value as an expression of JavaScript, in the style of the documentation. */
function javascript(value: Json | object): string {
  if (typeof value === 'string') return literal(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const isList = Array.isArray(value)
  const items = isList
    ? value.map(javascript)
    : Object.entries(value).map(([name, field]) => `${propertyName(name)}: ${javascript(field)}`)
  return wrapped(items, isList ? ['[', ']'] : ['{ ', ' }'], '  ')
}

/** `__proto__` in quotes or not sets the prototype: only a computed name is a property. */
function propertyName(name: string): string {
  if (name === '__proto__') return "['__proto__']"
  return /^[A-Za-z_]\w*$/.test(name) ? name : literal(name)
}

function python(value: Json): string {
  if (typeof value === 'string') return literal(value, '"')
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'number') return String(value)
  const isList = Array.isArray(value)
  const items = isList
    ? value.map(python)
    : Object.entries(value).map(([name, field]) => `${literal(name, '"')}: ${python(field)}`)
  return wrapped(items, isList ? ['[', ']'] : ['{', '}'], '    ')
}

function wrapped(items: readonly string[], [open, close]: readonly [string, string], indent: string): string {
  if (items.length === 0) return open.trim() + close.trim()
  const line = open + items.join(', ') + close
  if (line.length <= 80 && !line.includes('\n')) return line
  return `${open.trim()}\n${items.map((item) => `${indent}${indented(item, indent)},\n`).join('')}${close.trim()}`
}

function indented(text: string, indent: string): string {
  return text.replaceAll('\n', `\n${indent}`)
}
