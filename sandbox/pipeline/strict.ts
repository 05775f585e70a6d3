/**
 * What `strict` adds to the parse step: a field or value that clients alone have brought in (C02, C03) is what it is by the
 * API document, unknown or wrong. A callback URL (C07) stays a field that is accepted and has no effect (A34).
 */
import { z } from 'zod'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { ApiError, unknownField } from '../../src/contract/errors.ts'
import { isIabCategory, maxTopic, nativeTemplates } from '../../src/contract/fields.ts'
import { sourceOf } from '../../src/contract/objects.ts'
import { isObject, type Json, valueAt, withoutValue } from '../../src/foundation/json.ts'

const broughtIn = /^C0[23]$/

/**
 * Returns a body without the fields that the API document does not have, where others are ignored too (A14).
 * @throws ApiError 400 where they are not, and for values that it does not have
 */
export function inDocumentForm(endpoint: Endpoint, json: unknown, warnings: string[]): unknown {
  const found = fieldsBroughtIn(endpoint.branch?.(json) ?? endpoint.body!, json, [])
  if (found.length > 0 && endpoint.misplaced?.(json).ignoresOthers !== true) {
    const fields = found
      .map((at) => unknownField(at))
      .map(({ path, message, expected }) => ({ path, message, expected }))
    throw new ApiError('field_unknown', { fields })
  }
  const body = found.reduce((rest, at) => withoutValue(rest, at.join('.')), json as Json)
  if (found.length > 0) warnings.push('fields_ignored')
  const wrong = documentValues.flatMap(({ paths, isRight, expected }) =>
    paths
      .filter((path) => !isRight(valueAt(body, path) ?? null))
      .map((path) => ({ path, message: 'is not valid', expected })),
  )
  if (wrong.length > 0) throw new ApiError('schema_invalid', { fields: wrong })
  return body
}

/** Returns where a value has such fields, by the schema that names them. */
function fieldsBroughtIn(schema: z.core.$ZodType, value: unknown, at: readonly string[]): string[][] {
  if (!isObject(value)) return []
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return fieldsBroughtIn(schema.unwrap(), value, at)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => fieldsBroughtIn(option, value, at))
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : null
    if (field === null) return []
    const isBroughtIn = broughtIn.test(sourceOf(field)?.decision ?? '')
    return isBroughtIn ? [[...at, name]] : fieldsBroughtIn(field, inner, [...at, name])
  })
}

interface DocumentValue {
  paths: readonly string[]
  /** Given null for a field that is missing. What has another type is left to the schema. */
  isRight(value: Json): boolean
  expected: string
}

const documentValues: readonly DocumentValue[] = [
  {
    paths: ['slot_config.native_template_id'],
    isRight: (value) => value !== 'list-item',
    expected: `one of ${nativeTemplates.join(', ')}`,
  },
  {
    paths: ['context.topic'],
    isRight: (value) => typeof value !== 'string' || (value !== '' && value.length <= maxTopic),
    expected: `text of 1 to ${maxTopic} characters`,
  },
  {
    paths: [
      'overrides.blocked_categories',
      'overrides.publisher.categories',
      'brand_safety.blocked_categories',
      'publisher.categories',
    ],
    isRight: (value) => !Array.isArray(value) || value.every((item) => typeof item !== 'string' || isIabCategory(item)),
    expected: 'IAB categories, such as IAB8-5',
  },
]
