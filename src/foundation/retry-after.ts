/**
 * Returns the wait that a Retry-After header asks for, milliseconds from `now_ms`: whole seconds or an HTTP date
 * (RFC 9110). Returns null when the header is missing or is neither.
 */
export function retryAfterMs(header: string | null | undefined, now_ms: number): number | null {
  if (header === null || header === undefined) return null
  const wait_ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now_ms
  return Number.isFinite(wait_ms) ? Math.max(0, wait_ms) : null
}
