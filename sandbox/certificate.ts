/** The certificate and the private key of a start with TLS: what makes them unusable, and what clients will not accept. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { SandboxError } from './sandbox-error.ts'

/** A certificate with its chain, and its private key, both PEM. */
export interface TlsFiles {
  cert: string
  key: string
  /** The file of the key: a start warns when others can read it. */
  key_path?: string
}

/** Clients and OpenSSL refuse shorter keys of RSA. */
const minRsaBits = 2_048

const makeBoth =
  'Make both again, such as with mkcert, or openssl req -x509 -newkey rsa:2048. Or start with --tls: svc makes them.'

/**
 * Returns the certificate of a start.
 * @throws SandboxError for text that is not PEM, an encrypted or weak key, and a key of another certificate
 */
export function readCertificate({ cert, key }: TlsFiles): X509Certificate {
  const certificate = parse(
    () => new X509Certificate(cert),
    'The TLS certificate is not a certificate in PEM form.',
    'Give the file that begins with -----BEGIN CERTIFICATE-----.',
  )
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(key)) {
    const hint = 'Write it without one, readable by you alone: (umask 077; openssl pkey -in KEY -out plain.pem)'
    throw invalid('The TLS key is encrypted with a passphrase, which a start cannot ask for.', hint)
  }
  const privateKey = parse(
    () => createPrivateKey(key),
    'The TLS key is not a private key in PEM form.',
    'Give the file that begins with -----BEGIN PRIVATE KEY-----, or BEGIN and the kind of the key.',
  )
  if (!certificate.checkPrivateKey(privateKey)) {
    throw invalid('The TLS key does not belong to the certificate.', 'Give the two files that were made together.')
  }
  refuseWeak(privateKey)
  // Some builds of OpenSSL accept it all the same. Node before 24.9 does not tell.
  if (/sha1|md5/i.test(certificate.signatureAlgorithm ?? '')) throw unusableFiles(weakHash)
  refuseUnusable({ cert, key })
  return certificate
}

function parse<T>(read: () => T, message: string, hint: string): T {
  try {
    return read()
  } catch (cause) {
    throw invalid(message, hint, cause)
  }
}

function invalid(message: string, hint: string, cause?: unknown): SandboxError {
  return new SandboxError('option_invalid', message, hint, { cause })
}

function refuseWeak({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): void {
  const bits = asymmetricKeyDetails?.modulusLength
  if (asymmetricKeyType?.startsWith('rsa') !== true || bits === undefined || bits >= minRsaBits) return
  throw invalid(`The TLS key is too weak: RSA with ${bits} bits, and clients demand ${minRsaBits}.`, makeBoth)
}

/** Refuses what TLS itself refuses: weak curves and signatures, and certificates of the chain. */
function refuseUnusable({ cert, key }: TlsFiles): void {
  try {
    process.getBuiltinModule('node:tls').createSecureContext({ cert, key })
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    const reason = unusable.find(([codes]) => codes.test(code))?.[1] ?? 'TLS does not accept them'
    throw unusableFiles(reason, cause)
  }
}

function unusableFiles(reason: string, cause?: unknown): SandboxError {
  return invalid(`The TLS certificate and its key cannot be used: ${reason}.`, makeBoth, cause)
}

const weakHash = 'the certificate is signed with a hash that is too weak'

const unusable: readonly (readonly [RegExp, string])[] = [
  [/KEY_TOO_SMALL/, 'a key is too weak'],
  [/MD_TOO_WEAK/, weakHash],
  [/UNSUPPORTED|UNKNOWN_CERTIFICATE_TYPE|NO_SUITABLE/, 'TLS has no such kind of key'],
]

/** Returns what clients will not accept, and a key that others can read. */
export function certificateWarnings(
  { cert, key_path }: TlsFiles,
  now_ms: number,
  platform: string = process.platform,
): string[] {
  const { validFrom, validTo } = new X509Certificate(cert)
  const warnings: string[] = []
  const [from_ms, to_ms] = [Date.parse(validFrom), Date.parse(validTo)]
  if (to_ms < now_ms) {
    warnings.push(
      `the certificate expired on ${formatDay(to_ms)}: clients refuse it. Make another, or start with --tls`,
    )
  }
  if (from_ms > now_ms) {
    warnings.push(`the certificate is not valid before ${formatDay(from_ms)}: clients refuse it until then`)
  }
  if (key_path !== undefined && isReadableByOthers(key_path, platform)) {
    warnings.push(`every user of this computer can read the TLS key: chmod 600 ${key_path}`)
  }
  return warnings
}

function formatDay(time_ms: number): string {
  return new Date(time_ms).toISOString().slice(0, 10)
}

/** Windows keeps its permissions elsewhere. */
function isReadableByOthers(path: string, platform: string): boolean {
  return platform !== 'win32' && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0
}
