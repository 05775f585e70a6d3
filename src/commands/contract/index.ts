import { Argument } from 'commander'
import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import type { Style } from '../../cli/output/style.ts'
import { padEnd, wrap } from '../../cli/output/text.ts'
import type { Noun } from '../../cli/run/command.ts'
import { contract as endpoints } from '../../contract/index.ts'
import { contractListing, type ListedField } from '../../contract/listing.ts'
import { check } from './check.ts'
import { openapi } from './openapi.ts'

/** Columns of a terminal, and of a text without one. */
const usualColumns = 80

const show = endpointCommand('contract.show', {
  details:
    'Needs no sandbox. Shows each field with its type, whether it is required, its provenance, its decision id and what it is. Without endpoint: all endpoints.',
  arguments: [new Argument('[endpoint]', 'only this one, such as placements.create').choices(Object.keys(endpoints))],
  examples: ['contract show placements.create', 'contract show -o json'],
  async run({ out }, { args: [id] }) {
    const whole = contractListing()
    const listing = {
      ...whole,
      endpoints: whole.endpoints.filter((endpoint) => id === undefined || endpoint.id === id),
    }
    out.list(listing, listing.endpoints, (style) =>
      listing.endpoints.flatMap((endpoint) => endpointLines(endpoint, style)),
    )
    return 0
  },
})

export const contract: Noun = {
  summary: 'Show what is documented, observed and assumed, and check a service against it',
  commands: [
    show,
    {
      ...openapi,
      summary: endpoints['contract.openapi'].summary,
      examples: ['contract openapi --v1', 'contract openapi -o json'],
    },
    check,
  ],
  flagCommands: { '--check': 'check' },
}

type ListedEndpoint = ReturnType<typeof contractListing>['endpoints'][number]

function endpointLines({ id, method, path, stability, provenance, fields }: ListedEndpoint, style: Style): string[] {
  const terms = `${stability}, ${provenance}`
  const isLong = `${id}  ${method} ${path}  ${terms}`.length > 80
  const parts = Object.groupBy(fields, ({ where, variant }) => (variant === null ? where : `${where}, ${variant}`))
  return [
    `${style.bold(id)}  ${method} ${path}${isLong ? '' : `  ${style.dim(terms)}`}`,
    ...(isLong ? [`  ${style.dim(terms)}`] : []),
    ...Object.entries(parts).flatMap(([title, fields = []]) => [
      `  ${style.cyan(title)}`,
      ...fieldLines(fields, style),
    ]),
    '',
  ]
}

/** Returns the fields of one part, their names and types in columns, each with its description below. */
function fieldLines(fields: readonly ListedField[], style: Style): string[] {
  const width = (of: (field: ListedField) => string, most: number) =>
    Math.min(most, Math.max(...fields.map((field) => of(field).length)))
  const nameWidth = width(({ path }) => path, 24)
  const typeWidth = width(typeText, 17)
  return fields.flatMap(({ path, values, required, provenance, decision, description, ...field }) => {
    const type = typeText(field)
    const source = [provenance, decision].filter(Boolean).join(' ')
    const text = values === null ? description : `${description} One of: ${values.join(', ')}.`
    const facts = `${padEnd(type, typeWidth)}  ${required ? 'required' : 'optional'}  ${style.dim(source)}`
    return [
      ...(path.length > nameWidth ? [`    ${path}`] : []),
      `    ${padEnd(path.length > nameWidth ? '' : path, nameWidth)}  ${facts}`,
      ...wrap(text, (style.columns ?? usualColumns) - 6).map((line) => `      ${line}`),
    ]
  })
}

function typeText({ type }: Pick<ListedField, 'type'>): string {
  return type.replaceAll(' | ', '|')
}
