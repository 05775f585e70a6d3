/** The reference in Markdown. */
import {
  type Credential,
  type Endpoint,
  isControlPlane,
  listFailures,
  requiredRole,
  responseHeaders,
  type Stability,
} from '#contract/endpoint.ts'
import { errorCodes, type ReasonCode, reasonCodes } from '#contract/errors.ts'
import { compat, control, v1 } from '#contract/index.ts'
import { limits } from '#contract/limits.ts'
import { endpointFields, type ListedField } from '#contract/listing.ts'
import { beaconEventSpellings } from '#contract/resources/beacons.ts'
import { choices } from './choices.ts'
import { type PagePart, topicName } from './pages.ts'

/** Pages of endpoints: a table that is committed, and a page for each of its rows, which the build makes. */
interface Part {
  /** The file below docs, and the topic of the table. */
  file: string
  heading: string
  about: string
  endpoints: readonly Endpoint[]
}

const parts: readonly Part[] = [
  { file: 'reference.md', heading: 'Reference', about: introduction(), endpoints: Object.values<Endpoint>(v1) },
  {
    file: 'old-routes.md',
    heading: 'Old routes',
    about:
      'For clients that exist: a client written against an older version works by changing its base URL alone. These routes are not in the API document; `svc start --strict` turns them off. The deprecated ones respond with `Deprecation` and a `Link` to their successor.',
    endpoints: Object.values<Endpoint>(compat),
  },
  {
    file: 'control-plane.md',
    heading: 'Control plane',
    about:
      'Exists in the sandbox only. Programs on the same computer, and the inspector on its own origin, need no credential. A sandbox that is reached from elsewhere, or that shares its store, requires a token in the header `x-sandbox-token`, with at least the role that its page names; `admin` includes `write`, and `write` includes `read`. `svc team tokens create` makes one, and `svc start` prints the first.',
    endpoints: Object.values<Endpoint>(control),
  },
]

/** Returns the committed pages by their files below docs: the endpoints in tables, then headers, errors, limits and choices. */
export function referenceFiles(): Record<string, string> {
  return Object.fromEntries(
    parts.map(({ file, heading, about, endpoints }) => {
      const others = file === 'reference.md' ? commonSections() : []
      const sections = [`# ${heading}`, about, '## Endpoints', pagesNote, endpointTable(endpoints), ...others]
      return [file, `${sections.join('\n\n')}\n`]
    }),
  )
}

const pagesNote =
  'Each has a page with its fields, responses and failures, in the documentation that a sandbox serves, and on a terminal: `svc docs placements.create`.'

function endpointTable(endpoints: readonly Endpoint[]): string {
  const rows = endpoints.map((endpoint) => [
    `\`${endpoint.id}\``,
    title(endpoint),
    endpoint.summary,
    stabilities[endpoint.stability],
  ])
  return table(['Topic', 'Endpoint', 'Purpose', 'Stability'], rows)
}

function commonSections(): string[] {
  return [beaconSpellings(), headersSection(), errorCodesSection(), limitsSection(), choicesSection()]
}

/** Returns the page of each endpoint, with the file of the table that it is in. */
export function endpointPages(): PagePart[] {
  return parts.flatMap(({ file, endpoints }) => {
    // A response that an earlier endpoint has described becomes a link.
    const described = new Map<string, string>()
    return endpoints.map((endpoint) => ({
      ...{ file, name: endpoint.id, title: title(endpoint), summary: endpoint.summary, rows: { [endpoint.id]: '' } },
      markdown: `${endpointSection(endpoint, { topic: topicName(file), described })}\n`,
    }))
  })
}

function introduction(): string {
  return `Generated from the contract in \`src/core/contract\` by \`npm run docs\`. Names are snake_case, times with the suffix \`_ms\` are
integer Unix epoch milliseconds, sizes are CSS pixels. Request fields that are not listed are rejected.

Every field has a provenance:

${table(
  ['Provenance', 'Meaning'],
  [
    ['documented', 'Stated in the API document.'],
    ['observed', 'Seen in public clients and public documentation; real clients depend on it.'],
    ['assumed', 'Chosen here, in line with the conventions of the field. May differ in production.'],
  ],
)}

A choice, such as A22, is a recorded decision where the API document is silent or leaves room: [their list](#choices).
\`svc contract show\` prints fields and rules, \`GET /_sandbox/contract\` returns them as JSON, where a choice is the field
\`decision\`. \`svc contract openapi\` prints the OpenAPI 3.1 document, \`GET /_sandbox/openapi.json\` serves it, and the build writes it to
\`dist/openapi.json\`.

Beside it: [the routes of older clients](old-routes.md), [the control plane](control-plane.md), [reason codes](codes/errors.md),
[no-fill reasons](codes/no-fill.md), [the renderer](renderer.md).`
}

interface PageOptions {
  /** The topic of the table. */
  topic: string
  /** The responses that earlier pages have, with a link to each. */
  described: Map<string, string>
}

function endpointSection(endpoint: Endpoint, options: PageOptions): string {
  const fields = endpointFields(endpoint)
  return [
    `# ${title(endpoint)}`,
    endpoint.description,
    facts(endpoint),
    ...fieldsPart('Path parameters', 'params', fields),
    ...fieldsPart('Query', 'query', fields),
    ...requestHeadersPart(endpoint),
    ...fieldsPart('Body', 'body', fields),
    ...responsePart(endpoint, fields, options),
    failuresPart(endpoint),
  ].join('\n\n')
}

function facts(endpoint: Endpoint): string {
  const { id, stability, provenance, credentials, rate, body, body_media_type, body_limit_bytes } = endpoint
  const rows = [
    ['Id', `\`${id}\``],
    ['Stability', stabilities[stability]],
    ['Provenance', provenance],
    [
      'Credentials',
      credentials.map((credential) => credentialNames[credential]).join(', ') || 'no Authorization header',
    ],
    ['Rate class', rate === null ? 'not limited' : `\`${rate}\`: ${rateText(rate)}`],
  ]
  if (isControlPlane(endpoint) && !endpoint.id.startsWith('health.'))
    rows.push(['Role of a token', requiredRole(endpoint)])
  const media_type = body === undefined ? body_media_type : 'application/json'
  if (media_type !== undefined) rows.push(['Body', `\`${media_type}\`, at most ${number(body_limit_bytes)} bytes`])
  return table(['', ''], rows)
}

const credentialNames: Record<Credential, string> = {
  secret_key: 'secret key',
  activation_token: 'browser activation token',
  beacon_token: 'beacon token of the hosted frame',
}

function rateText(rate: keyof typeof limits.rate): string {
  return `${limits.rate[rate].per_second} per second, burst ${number(limits.rate[rate].burst)}`
}

/** Returns a heading and a table; a table for each variant where the whole has several. */
function fieldsPart(heading: string, where: ListedField['where'], fields: readonly ListedField[]): string[] {
  const rows = fields.filter((field) => field.where === where)
  if (rows.length === 0) return []
  if (rows.some(({ variant }) => variant === null)) return [`## ${heading}`, fieldsTable(rows)]
  const variants = Object.entries(Object.groupBy(rows, ({ variant }) => variant ?? ''))
  return variants.flatMap(([variant, own = []]) => [
    `## ${heading}, as ${variant}`,
    fieldsTable(own.map((field) => ({ ...field, variant: null }))),
  ])
}

function fieldsTable(rows: readonly ListedField[]): string {
  const hasVariants = rows.some(({ variant }) => variant !== null)
  return table(
    ['Field', ...(hasVariants ? ['Variant'] : []), 'Type', 'Required', 'Provenance', 'Choice', 'Description'],
    rows.map((field) => [
      `\`${field.path}\``,
      ...(hasVariants ? [field.variant ?? ''] : []),
      typeText(field),
      field.required ? 'yes' : 'no',
      field.provenance,
      field.decision ?? '',
      field.description,
    ]),
  )
}

function typeText({ type, values, limits }: ListedField): string {
  const words = [type.replaceAll(' | ', ' or '), ...(limits === null ? [] : [limits])].join(', ')
  if (values === null) return words
  if (values.includes('schema_invalid')) return `${words}: a [reason code](codes/errors.md)`
  if (values.includes('no_demand')) return `${words}: a [no-fill reason](codes/no-fill.md)`
  return `${words}: ${values.map((value) => `\`${value}\``).join(', ')}`
}

function requestHeadersPart({ request_headers = {} }: Endpoint): string[] {
  const rows = Object.entries(request_headers)
  if (rows.length === 0) return []
  return [
    '## Headers',
    table(
      ['Header', 'Type', 'Required', 'Provenance', 'Choice', 'Description'],
      rows.map(([name, { type, required, provenance, decision, description }]) => [
        `\`${name}\``,
        type,
        required ? 'yes' : 'no',
        provenance,
        decision,
        description,
      ]),
    ),
  ]
}

function responsePart(endpoint: Endpoint, fields: readonly ListedField[], { topic, described }: PageOptions): string[] {
  const { status, response } = endpoint
  const heading = `Response ${status}`
  if ('media_type' in response) return [`## ${heading}`, `\`${response.media_type}\`.`]
  const part = fieldsPart(heading, 'response', fields)
  if (part.length === 0) return [`## ${heading}`, 'A JSON object.']
  const earlier = described.get(part.join())
  if (earlier !== undefined) return [`## ${heading}`, `The same as that of ${earlier}.`]
  described.set(part.join(), `[${title(endpoint)}](/_sandbox/docs/${topic}/${endpoint.id})`)
  return part
}

function failuresPart(endpoint: Endpoint): string {
  const byStatus = groupByStatus(listFailures(endpoint), endpoint.pages)
  const lines = Object.entries(byStatus).map(([status, codes]) => {
    const isPage = codes.some((code) => endpoint.pages?.[code] !== undefined)
    return `- ${status}${isPage ? ' (a page)' : ''}: ${codes.map((code) => `\`${code}\``).join(', ')}`
  })
  return ['## Failures', lines.join('\n')].join('\n\n')
}

const stabilities: Record<Stability, string> = {
  stable: 'stable',
  advanced: 'advanced',
  may_change: 'contract may change',
  deprecated: 'deprecated',
  sandbox: 'sandbox only',
}

function groupByStatus(codes: readonly ReasonCode[], pages: Endpoint['pages'] = {}): Record<string, ReasonCode[]> {
  const groups = Object.groupBy(codes, (code) => pages[code] ?? errorCodes[reasonCodes[code].error].status)
  return Object.fromEntries(Object.entries(groups).map(([status, causes = []]) => [status, causes]))
}

function title({ method, path }: Endpoint): string {
  return `${method} ${path}`
}

function beaconSpellings(): string {
  return [
    '## Beacon spellings',
    'Spellings of public clients that `event` accepts, and the event they are stored as (A71).',
    table(
      ['Spelling', 'Stored as'],
      Object.entries(beaconEventSpellings).map(([spelling, event]) => [`\`${spelling}\``, `\`${event}\``]),
    ),
  ].join('\n\n')
}

function headersSection(): string {
  return [
    '## Headers',
    'Response headers.',
    table(
      ['Header', 'Type', 'Provenance', 'Choice', 'Description'],
      Object.entries(responseHeaders).map(([name, { type, provenance, decision, description }]) => [
        `\`${name}\``,
        type,
        provenance,
        decision,
        description,
      ]),
    ),
  ].join('\n\n')
}

function errorCodesSection(): string {
  return [
    '## Error codes',
    'The field `error` of the error body. `reason_code` is the precise cause; `hint` says what to do.',
    table(
      ['Status', 'Code', 'Provenance', 'Retryable', 'Exit code of svc', 'Meaning'],
      Object.entries(errorCodes)
        .toSorted(([, one], [, other]) => one.status - other.status)
        .map(([code, { status, provenance, retryable, exit_code, summary }]) => [
          `${status}`,
          `\`${code}\``,
          provenance,
          retryable ? 'yes' : 'no',
          `${exit_code}`,
          summary,
        ]),
    ),
  ].join('\n\n')
}

function limitsSection(): string {
  const rows = (Object.keys(limitNotes) as (keyof typeof limits)[]).map((name) => {
    const [decision, meaning] = limitNotes[name]
    return [`\`${name}\``, valueText(limits[name]), decision, meaning]
  })
  return ['## Limits', table(['Limit', 'Value', 'Choice', 'Meaning'], rows)].join('\n\n')
}

const limitNotes: Record<keyof typeof limits, [decision: string, meaning: string]> = {
  body_bytes: ['A21', 'Largest body, bytes.'],
  beacon_body_bytes: ['A21', 'Largest body of a beacon, bytes.'],
  import_bytes: ['A93', 'Largest export that can be imported, bytes.'],
  import_unpacked_bytes: ['A93', 'The same, unpacked.'],
  bundle_bytes: ['A107', 'Largest bundle that can be imported, bytes.'],
  demand_bytes: ['A107', 'Largest body of your own campaigns, bytes.'],
  slots_requested: ['A21', 'Slots of one job.'],
  wait_ms: ['A22', 'Longest wait, to which wait_ms is clamped, and the default waits.'],
  activation_token_ttl_ms: ['A04', 'Lifetime of an activation token; a setting of the project.'],
  frame_load_within_ms: ['A05', 'From the decision to the first load of the frame; a setting of the project.'],
  beacons_after_load_ms: [
    'A05',
    'From the first load of the frame to the last beacon and the last load again; a setting of the project.',
  ],
  click_after_load_ms: ['A05', 'From the first load of the frame to the last click; a setting of the project.'],
  beacon_token_ttl_ms: [
    'A06',
    'Lifetime of a beacon token; for a click it lasts as long as its asset token accepts one.',
  ],
  decision_ttl_ms: ['A30', 'From the decision to its expiry.'],
  consent_ttl_ms: ['A62', 'Lifetime of a consent; a setting of the project.'],
  consent_repeat_within_ms: ['A62', 'The same consent again changes nothing until this long after it was written.'],
  beacon_max_age_ms: ['A73', 'Older beacons are stale.'],
  beacon_max_future_skew_ms: ['A73', 'Beacons with a time further ahead are in the future.'],
  heartbeat_interval_ms: ['A80', 'Time between two heartbeats of a frame.'],
  heartbeats_max: ['A80', 'Maximum heartbeats of a frame.'],
  viewability: ['A76', 'When an impression is viewable: share of the pixels and continuous time.'],
  viewable_side_px: [
    'A76',
    'The least width and height of an ad that counts as seen; half of a declared side where that is less.',
  ],
  rate: ['A20', 'Token bucket per key: tokens a second and burst; a setting of the project.'],
}

function valueText(value: unknown): string {
  if (typeof value === 'number') return number(value)
  return Object.entries(value as object)
    .map(([name, part]) => `${name} ${typeof part === 'number' ? number(part) : `(${valueText(part)})`}`)
    .join(', ')
}

function choicesSection(): string {
  const rows = Object.entries(choices).map(([id, title]) => [id, title])
  return [
    '## Choices',
    'What the API document does not decide, by the id in the tables above.',
    table(['Choice', 'About'], rows),
  ].join('\n\n')
}

/** Returns a table. Escapes `<` and `|` in its cells. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('<', '&lt;')).join(' | ')} |`
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

/** Returns 65536 as `65,536`. */
export function number(value: number): string {
  return value.toLocaleString('en')
}
