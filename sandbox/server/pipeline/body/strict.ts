/** What `strict` leaves out of request bodies: fields and values of existing clients that the API document does not have. */
import { z } from 'zod'
import type { Endpoint } from '#contract/endpoint.ts'
import { ApiError, unknownField } from '#contract/errors.ts'
import { isIabCategory, maxTopic, nativeTemplates, Topic } from '#contract/fields.ts'
import { readSource } from '#contract/objects.ts'
import type { Warning } from '#contract/warnings.ts'
import { isObject, type Json, valueAt, withoutValue } from '#foundation/json.ts'

const legacyDecisions = /^C0[23]$/

/**
 * Treats a field or value of C02 or C03 as the API document does: as unknown or invalid. Where unknown fields are
 * ignored (A14), returns a body without them. A callback URL (C07) is still accepted and has no effect (A34).
 * @throws ApiError 400 where they are not ignored, and for values that the document does not have
 */
export function toStrictBody(endpoint: Endpoint, json: unknown, warnings: Warning[]): unknown {
  const found = findLegacyFields(endpoint.branch?.(json) ?? endpoint.body!, json, [])
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

function findLegacyFields(schema: z.core.$ZodType, value: unknown, at: readonly string[]): string[][] {
  if (!isObject(value)) return []
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return findLegacyFields(schema.unwrap(), value, at)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => findLegacyFields(option, value, at))
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : null
    if (field === null) return []
    const isLegacy = legacyDecisions.test(readSource(field)?.decision ?? '')
    return isLegacy ? [[...at, name]] : findLegacyFields(field, inner, [...at, name])
  })
}

interface DocumentValue {
  paths: readonly string[]
  /** Called with null for a missing field. A value of another type is left to the schema. */
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
    isRight: (value) => typeof value !== 'string' || Topic.safeParse(value).success,
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
