/**
 * Secrets where none belong (A94). The text of a request is searched for their prefixes; only a request with a match is
 * checked field by field.
 */
import type { Endpoint } from '#contract/endpoint.ts'
import { ApiError, type FieldError, type LocatedFieldError, unknownField } from '#contract/errors.ts'
import type { Warning } from '#contract/warnings.ts'
import { type Visited, walkJson } from '#foundation/json/walk.ts'
import { mayHoldSecrets, redactSecrets, secretKind, withoutAssetTokens } from '#foundation/redaction.ts'
import type { Request } from '../exchange.ts'

export const maxListedFields = 20
const noFields: readonly string[] = []

/**
 * Returns a body without asset tokens, except in the fields where they belong, and whether it contains no key or token
 * at all. @throws ApiError 400 secret_in_field when a field contains a secret key, or an activation, beacon or
 * control-plane token
 */
export function refuseSecrets(
  { credential_fields = noFields }: Endpoint,
  json: unknown,
  text: string,
  warnings: Warning[],
): { json: unknown; isPlain: boolean } {
  if (!mayHoldSecrets(text)) return { json, isPlain: true }
  const found = secretsIn(json, credential_fields)
  if (found.length > 0) throw secretInField(found)
  const cleaned = replaceAssetTokens(json, null, credential_fields)
  if (cleaned !== json) warnings.push('asset_token_removed')
  return { json: cleaned, isPlain: false }
}

/** Refuses a URL with a secret in its query. @throws ApiError 400 */
export function refuseSecretsInQuery({ url, query }: Pick<Request, 'url' | 'query'>): void {
  if (url.includes('?') && mayHoldSecrets(url)) refuseSecretValues(query)
}

/** Refuses values that contain a secret. @throws ApiError 400 */
function refuseSecretValues(values: Readonly<Record<string, unknown>>): void {
  const found = secretsIn(values, noFields)
  if (found.length > 0) throw secretInField(found)
}

/** Refuses secrets, and asset tokens too, in the parameters of a path that name something new. @throws ApiError 400 */
export function refuseSecretNames(params: Readonly<Record<string, string | undefined>>): void {
  refuseSecretValues(params)
  for (const [path, value = ''] of Object.entries(params)) {
    if (withoutAssetTokens(value) === value) continue
    throw secretInField([{ path, message: 'contains an asset token', expected: 'a name without a token' }])
  }
}

function secretInField(found: readonly FieldError[]): ApiError {
  return new ApiError('secret_in_field', { fields: found.slice(0, maxListedFields) })
}

function secretsIn(body: unknown, except: readonly string[]): FieldError[] {
  const isExcepted = ({ path: [first = ''] }: Visited) => except.includes(String(first))
  const kindOfName = ({ name }: Visited) => secretKind(name)
  return [...walkJson(body, (visited) => !isExcepted(visited) && kindOfName(visited) === null)].flatMap((visited) => {
    const { value, path } = visited
    if (isExcepted(visited)) return []
    const kind = kindOfName(visited) ?? (typeof value === 'string' ? secretKind(value) : null)
    if (kind === null) return []
    const place = withoutSecrets({
      ...unknownField(path),
      message: `contains ${kind.startsWith('a') ? 'an' : 'a'} ${kind}`,
    })
    const header = kind === 'control-plane token' ? 'x-sandbox-token' : 'Authorization'
    return [{ ...place, expected: `no secret: it belongs only in the ${header} header` }]
  })
}

/** Returns the same value when there is nothing to replace. */
function replaceAssetTokens(value: unknown, name: string | null, except: readonly string[]): unknown {
  if (typeof value === 'string') return name === 'asset_token' ? value : withoutAssetTokens(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((item) => replaceAssetTokens(item, name, noFields))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  const entries = Object.entries(value)
  const cleaned = entries.map(([key, inner]): [string, unknown] =>
    except.includes(key) ? [key, inner] : [withoutAssetTokens(key), replaceAssetTokens(inner, key, noFields)],
  )
  const isSame = cleaned.every(([key, inner], index) => key === entries[index]![0] && inner === entries[index]![1])
  return isSame ? value : Object.fromEntries(cleaned)
}

export function withoutSecrets({ path, message, expected }: LocatedFieldError): FieldError {
  return { path: redactSecrets(path), message, expected }
}
