/** What Node calls failures before a connection. Browsers do not say which of theirs these are: their build has none. */
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
  // A host with several addresses fails once for each.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(neverArrived)
  return beforeConnection.has(String(code)) || neverArrived(error.cause)
}
