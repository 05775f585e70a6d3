/** `svc contract`: the contract as text. */

import { Argument } from 'commander'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { Noun } from '#cli/run/command.ts'
import { contract as endpoints } from '#contract/index.ts'
import { contractListing, type ListedField } from '#contract/listing.ts'
import { CliError, didYouMean } from '#text/cli-error.ts'
import type { Style } from '#text/terminal.ts'
import { padEnd, wrap } from '#text/text.ts'
import { check } from './check.ts'
import { compare } from './compare.ts'
import { openapi } from './openapi.ts'

/** Columns of a terminal, and of a text without one. */
const usualColumns = 80

const show = endpointCommand('contract.show', {
  details:
    'Needs no sandbox. Shows each field with its type, whether it is required, its provenance, decision id and description. With the name of a field: where the API has it. Without a name: all endpoints.',
  arguments: [nameArgument()],
  examples: ['contract show placements.create', 'contract show slot_id', 'contract show -o json'],
  async run({ out }, { args: [name] }) {
    const whole = contractListing()
    const listing = {
      ...whole,
      endpoints: name === undefined ? whole.endpoints : selectEndpoints(name, whole.endpoints),
    }
    out.list(listing, listing.endpoints, (style) =>
      listing.endpoints.flatMap((endpoint) => endpointLines(endpoint, style)),
    )
    return 0
  },
})

export const contract: Noun = {
  summary: 'Show what is documented, observed and assumed, and compare a service with it',
  commands: [show, check, compare, openapi],
}

/** Completion suggests the endpoints; a field can have any name. */
function nameArgument(): Argument {
  const argument = new Argument('[name]', 'an endpoint, such as placements.create, or a field: slot_id')
  argument.argChoices = Object.keys(endpoints)
  return argument
}

/**
 * Returns the endpoint with this name, or the endpoints that have a field with it, with only that field. Throws
 * CliError.
 */
function selectEndpoints(name: string, all: readonly ListedEndpoint[]): ListedEndpoint[] {
  const one = all.filter(({ id }) => id === name)
  if (one.length > 0) return one
  const field = name.replace(/^--?/, '').replaceAll('-', '_')
  const isNamed = ({ path }: ListedField) => path === field || path.split(/[.[]/).at(-1)?.replace(']', '') === field
  const found = all
    .map((endpoint) => ({ ...endpoint, fields: endpoint.fields.filter(isNamed) }))
    .filter(({ fields }) => fields.length > 0)
  if (found.length > 0) return found
  const names = new Set(all.flatMap(({ id, fields }) => [id, ...fields.map(({ path }) => path)]))
  const hint = didYouMean(name, [...names]) ?? didYouMean(field, [...names]) ?? 'All of it: svc contract show'
  throw new CliError(
    'usage',
    'name_unknown',
    `The contract has no endpoint and no field ${JSON.stringify(name)}.`,
    hint,
  )
}

type ListedEndpoint = ReturnType<typeof contractListing>['endpoints'][number]

function endpointLines({ id, method, path, stability, provenance, fields }: ListedEndpoint, style: Style): string[] {
  const terms = `${stability}, ${provenance}`
  const width = style.columns ?? usualColumns
  const request = `${method} ${path}`
  const isRequestBelow = `${id}  ${request}`.length > width
  const isLong = isRequestBelow || `${id}  ${request}  ${terms}`.length > width
  const parts = Object.groupBy(fields, ({ where, variant }) => (variant === null ? where : `${where}, ${variant}`))
  return [
    `${style.bold(id)}${isRequestBelow ? '' : `  ${request}`}${isLong ? '' : `  ${style.dim(terms)}`}`,
    ...(isRequestBelow ? [`  ${request}`] : []),
    ...(isLong ? [`  ${style.dim(terms)}`] : []),
    ...Object.entries(parts).flatMap(([title, fields = []]) => [
      `  ${style.cyan(title)}`,
      ...fieldLines(fields, style),
    ]),
    '',
  ]
}

/** A narrower column would put every name above its facts. */
const minNameWidth = 8

/** Returns the fields of one part, their names and types in columns, each with its description below. */
function fieldLines(fields: readonly ListedField[], style: Style): string[] {
  const width = (of: (field: ListedField) => string, most: number) =>
    Math.min(most, Math.max(...fields.map((field) => of(field).length)))
  const typeWidth = width(typeText, 17)
  const columns = style.columns ?? usualColumns
  const sourceWidth = width(sourceText, columns)
  const nameWidth = width(
    ({ path }) => path,
    Math.max(minNameWidth, Math.min(24, columns - typeWidth - sourceWidth - '      required    '.length)),
  )
  return fields.flatMap((field) => {
    const { path, values, limits, required, description } = field
    const text = [
      description,
      ...(limits === null || description.includes(limits) ? [] : [`${limits[0]!.toUpperCase()}${limits.slice(1)}.`]),
      ...(values === null ? [] : [`One of: ${values.join(', ')}.`]),
    ].join(' ')
    const presence = required ? 'required' : 'optional'
    const facts = `${padEnd(typeText(field), typeWidth)}  ${presence}  `
    const isWide = 6 + nameWidth + facts.length + sourceText(field).length > columns
    const isAbove = path.length > nameWidth || isWide
    const head = isWide ? '      ' : `    ${padEnd(isAbove ? '' : path, nameWidth)}  `
    return [
      ...(isAbove ? [`    ${path}`] : []),
      head + facts + style.dim(sourceText(field)),
      ...wrap(text, columns - 6).map((line) => `      ${line}`),
    ]
  })
}

function sourceText({ provenance, decision }: Pick<ListedField, 'provenance' | 'decision'>): string {
  return [provenance, decision].filter(Boolean).join(' ')
}

function typeText({ type }: Pick<ListedField, 'type'>): string {
  return type.replaceAll(' | ', '|')
}
