import {
  listInnerErrors,
  readErrorCode,
  systemErrorBehind,
  systemHint,
  systemReason,
} from '#foundation/system-error.ts'

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
  const inner = listInnerErrors(error)
  if (inner.length > 0) return inner.every(neverArrived)
  return beforeConnection.has(String(readErrorCode(error))) || neverArrived(error.cause)
}

/** Why there is no connection, and what to do. */
interface ConnectionFailure {
  /** To follow `cannot be reached:`. */
  reason: string
  hint: string | null
}

/**
 * Describes a failed connection in words: the scheme that the service does not speak, a certificate that is not
 * accepted, and failures of the system. Any other failure keeps its own words.
 */
export function describeConnection(error: unknown, base_url: string): ConnectionFailure {
  const codes = listCauses(error).map(({ code, message }) => `${code ?? ''} ${message}`)
  const isPlain = codes.some((text) => plainService.test(text))
  if (isPlain && base_url.startsWith('https:')) {
    return { reason: 'it speaks http, not https', hint: `Use ${base_url.replace(/^https/, 'http')}` }
  }
  const certificate = certificateProblems.find(([pattern]) => codes.some((text) => pattern.test(text)))
  if (certificate !== undefined) return { reason: certificate[1], hint: certificate[2] }
  const tls = codes.map((text) => /^(ERR_(SSL|TLS)_\w+|EPROTO)/.exec(text)?.[0]).find((code) => code !== undefined)
  if (tls !== undefined) {
    return { reason: `TLS cannot be agreed on (${tls})`, hint: 'Check its certificate, and which TLS versions it has.' }
  }
  if (codes.some((text) => /^HPE_/.test(text))) {
    return { reason: 'its response is not HTTP', hint: 'Does another program listen there?' }
  }
  if (codes.some((text) => closed.test(text))) {
    const other = base_url.startsWith('http:') ? ` If it speaks https: ${base_url.replace(/^http/, 'https')}` : ''
    return { reason: 'it closed the connection without a response', hint: `Send it again, or see its log.${other}` }
  }
  const system = systemErrorBehind(error)
  if (system === null) return { reason: describeCause(error), hint: null }
  // Where nothing listens, the caller knows what to start.
  const hint = system.code === 'ECONNREFUSED' ? null : systemHint(system.code)
  return { reason: `${systemReason(system)} (${system.code})`, hint }
}

/** Returns the innermost cause in the system's words, with its code. */
function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return describeCause(error.cause)
  const code = readErrorCode(error)
  return code !== undefined && !error.message.includes(code)
    ? `${error.message} (${code})`
    : error.message || String(code)
}

/** What OpenSSL says of a response that is not TLS. */
const plainService = /WRONG_VERSION_NUMBER|wrong version number|PACKET_LENGTH_TOO_LONG|packet length too long/
const closed = /^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET) |socket hang up|other side closed/

const trustIt =
  'Trust it, or the authority that signed it, as a PEM file: NODE_EXTRA_CA_CERTS=FILE. A sandbox prints its file when it starts, and svc sandbox env the variable.'

/** The codes of certificates that are not accepted, with what is wrong with them and what to do. */
const certificateProblems: readonly (readonly [RegExp, string, string])[] = [
  [/CERT_HAS_EXPIRED/, 'its certificate has expired', 'Give the service another certificate.'],
  [/CERT_NOT_YET_VALID/, 'its certificate is not valid yet', 'Check the clocks of both computers.'],
  [/ALTNAME_INVALID|HOSTNAME_MISMATCH/, 'its certificate is for other names', 'Use a name of the certificate.'],
  [/CERT_REVOKED/, 'its certificate was revoked', 'Give the service another certificate.'],
  [/SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CERT_UNTRUSTED/, 'its certificate is not trusted here', trustIt],
  [
    /^\S*(CERT|CRL)_|ISSUER_PUBLIC_KEY|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|_IN_ISSUER|IN_CERT|IN_CRL/,
    'its certificate is not accepted',
    trustIt,
  ],
]

/** Returns an error with its causes, from the outermost. */
function listCauses(error: unknown): (Error & { code?: unknown })[] {
  if (!(error instanceof Error)) return []
  return [error, ...listCauses(error.cause), ...listInnerErrors(error).flatMap(listCauses)]
}
