/**
 * The endpoints as plain data: the parts of the contract that the command line needs, with fields as JSON Schema. The
 * build evaluates this file and puts the data in its place, so that a command loads neither the contract nor a schema.
 */

import { z } from 'zod'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract, type EndpointId } from '#contract/index.ts'
import { listShape } from '#contract/objects.ts'
import { mapTable } from '#foundation/table-entry.ts'

export interface Field {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly const?: string
  readonly anyOf?: readonly Field[]
  readonly properties?: Readonly<Record<string, Field>>
  readonly items?: Field
  readonly required?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  /** The message for a value that the pattern rejects: `must be proj_ and a name`. */
  readonly problem?: string
  /** Example values, for a field that takes several of them: a list, a pattern. */
  readonly keywords?: { readonly examples?: readonly string[] }
  readonly description?: string
  readonly provenance?: string
  readonly decision?: string
}

/** An endpoint without its schemas. */
export interface EndpointSchema
  extends Pick<Endpoint, 'id' | 'method' | 'path' | 'summary' | 'description' | 'credentials' | 'status'> {
  readonly body_media_type?: string
  /** The media type of a response that is not JSON. */
  readonly response: { readonly media_type?: string }
  /** The fields of an item, for an endpoint that lists. */
  readonly item_fields?: readonly string[]
  /** The description of each path parameter. */
  readonly params: Readonly<Record<string, string>>
  /** The most characters of the path parameters that have such a limit. */
  readonly param_limits: Readonly<Record<string, number>>
  readonly query: Field | null
  /** Its variants are in `anyOf`. */
  readonly body: Field | null
}

export const endpoints: Readonly<Record<EndpointId, EndpointSchema>> = mapTable<EndpointId, Endpoint, EndpointSchema>(
  contract,
  describeEndpoint,
)

function describeEndpoint(endpoint: Endpoint): EndpointSchema {
  const { id, method, path, summary, description, credentials, status, body_media_type, response } = endpoint
  const params = endpoint.params === undefined ? [] : listShape(endpoint.params)
  return {
    ...{ id, method, path, summary, description, credentials, status },
    ...(body_media_type === undefined ? {} : { body_media_type }),
    response: 'media_type' in response ? { media_type: response.media_type } : {},
    ...itemFields(endpoint),
    params: Object.fromEntries(params.map(([name, schema]) => [name, schema.meta()?.description ?? name])),
    param_limits: Object.fromEntries(
      params.flatMap(([name, schema]) => {
        const { maxLength } = toJsonSchema(schema)
        return maxLength === undefined ? [] : [[name, maxLength]]
      }),
    ),
    query: endpoint.query === undefined ? null : toJsonSchema(endpoint.query),
    body: endpoint.body === undefined ? null : toJsonSchema(endpoint.body),
  }
}

function itemFields({ response }: Endpoint): Pick<EndpointSchema, 'item_fields'> {
  const items: unknown = response instanceof z.ZodObject ? response.shape.items : undefined
  const item = items instanceof z.ZodArray ? items.element : undefined
  return item instanceof z.ZodObject ? { item_fields: Object.keys(item.shape) } : {}
}

/** Returns a schema as JSON Schema, with the messages of its patterns. */
function toJsonSchema(schema: z.ZodType): Field {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // A format, such as a time, is a schema that is its own check.
      for (const { _zod } of [zodSchema, ...(zodSchema._zod.def.checks ?? [])]) {
        const { check, error } = _zod.def as { check?: string; error?: (issue: object) => unknown }
        const message = check === 'string_format' ? error?.({}) : undefined
        if (typeof message === 'string') jsonSchema.problem = message
      }
    },
  }) as Field
}
