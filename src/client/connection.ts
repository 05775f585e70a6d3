/**
 * Node's codes for failures before a connection. Browsers do not distinguish these failures: their build has no such
 * codes.
 */
const beforeConnection = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Whether a request failed before any part of it was sent. */
export function neverArrived(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errors } = error as { code?: unknown; errors?: unknown[] }
  // A host with several addresses fails once per address.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(neverArrived)
  return beforeConnection.has(String(code)) || neverArrived(error.cause)
}
