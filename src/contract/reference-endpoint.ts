import type { Credential, Endpoint, Stability } from './endpoint.ts'
import { errorCodes, type ReasonCode, reasonCodes } from './errors.ts'
import { requestHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { endpointFields, type ListedField } from './listing.ts'
import { anchor, number, table } from './markdown.ts'

/** The sections of some endpoints. An answer that an earlier endpoint has described is referred to. */
export function endpointSections(endpoints: readonly Endpoint[]): string[] {
  const described = new Map<string, string>()
  return endpoints.map((endpoint) => endpointSection(endpoint, described))
}

function endpointSection(endpoint: Endpoint, described: Map<string, string>): string {
  const fields = endpointFields(endpoint)
  return [
    `### ${title(endpoint)}`,
    endpoint.description,
    facts(endpoint),
    ...fieldsPart('Path parameters', 'params', fields),
    ...fieldsPart('Query', 'query', fields),
    ...requestHeadersPart(endpoint.id),
    ...fieldsPart('Body', 'body', fields),
    ...answerPart(endpoint, fields, described),
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
  return `${limits.rate[rate].per_second} a second, burst ${number(limits.rate[rate].burst)}`
}

/** A heading and a table; a table for each shape where the whole comes in several. */
function fieldsPart(heading: string, where: ListedField['where'], fields: readonly ListedField[]): string[] {
  const rows = fields.filter((field) => field.where === where)
  if (rows.length === 0) return []
  if (rows.some(({ variant }) => variant === null)) return [`**${heading}**`, fieldsTable(rows)]
  const shapes = Object.entries(Object.groupBy(rows, ({ variant }) => variant ?? ''))
  return shapes.flatMap(([shape, members = []]) => [
    `**${heading}, as ${shape}**`,
    fieldsTable(members.map((member) => ({ ...member, variant: null }))),
  ])
}

function fieldsTable(rows: readonly ListedField[]): string {
  const hasShapes = rows.some(({ variant }) => variant !== null)
  return table(
    ['Field', ...(hasShapes ? ['Shape'] : []), 'Type', 'Required', 'Provenance', 'Decision', 'Description'],
    rows.map((field) => [
      `\`${field.path}\``,
      ...(hasShapes ? [field.variant ?? ''] : []),
      typeText(field),
      field.required ? 'yes' : 'no',
      field.provenance,
      field.decision ?? '',
      field.description,
    ]),
  )
}

function typeText({ type, values }: ListedField): string {
  const words = type.replaceAll(' | ', ' or ')
  if (values === null) return words
  if (values.includes('schema_invalid')) return `${words}: a [reason code](#reason-codes)`
  if (values.includes('no_demand')) return `${words}: a [no-fill reason](#no-fill-reasons)`
  return `${words}: ${values.map((value) => `\`${value}\``).join(', ')}`
}

function requestHeadersPart(id: string): string[] {
  if (!(id in requestHeaders)) return []
  const rows = Object.entries(requestHeaders[id as keyof typeof requestHeaders])
  return [
    '**Headers**',
    table(
      ['Header', 'Type', 'Required', 'Provenance', 'Decision', 'Description'],
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

function answerPart(endpoint: Endpoint, fields: readonly ListedField[], described: Map<string, string>): string[] {
  const { status, response } = endpoint
  const heading = `Answer ${status}`
  if ('media_type' in response) return [`**${heading}**: \`${response.media_type}\`.`]
  const part = fieldsPart(heading, 'response', fields)
  if (part.length === 0) return [`**${heading}**: a JSON object.`]
  const earlier = described.get(part.join())
  if (earlier !== undefined) return [`**${heading}**: the same as that of ${earlier}.`]
  described.set(part.join(), `[${title(endpoint)}](#${anchor(title(endpoint))})`)
  return part
}

function failuresPart(endpoint: Endpoint): string {
  const byStatus = groupByStatus(endpoint.errors, endpoint.pages)
  const lines = Object.entries(byStatus).map(([status, codes]) => {
    const isPage = codes.some((code) => endpoint.pages?.[code] !== undefined)
    return `- ${status}${isPage ? ' (a page)' : ''}: ${codes.map((code) => `\`${code}\``).join(', ')}`
  })
  return ['**Failures**', lines.join('\n')].join('\n\n')
}

export const stabilities: Record<Stability, string> = {
  stable: 'stable',
  advanced: 'advanced',
  may_change: 'contract may change',
  sandbox: 'sandbox only',
}

export function groupByStatus(
  codes: readonly ReasonCode[],
  pages: Endpoint['pages'] = {},
): Record<string, ReasonCode[]> {
  const groups = Object.groupBy(codes, (code) => pages[code] ?? errorCodes[reasonCodes[code].error].status)
  return Object.fromEntries(Object.entries(groups).map(([status, members = []]) => [status, members]))
}

export function title({ method, path }: Endpoint): string {
  return `${method} ${path}`
}
