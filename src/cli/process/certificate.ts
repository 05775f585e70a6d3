/**
 * Certificates of local sandboxes: either made on the first start and kept in the state directory, so that they stay
 * the same between starts, or given as files.
 *
 * `tls/NAMES.pem` contains both key and certificate and is created atomically: two simultaneous starts never mix two
 * pairs. `tls/NAMES.crt` is only the certificate, which clients trust.
 */
import { X509Certificate } from 'node:crypto'
import { linkSync, readFileSync, rmSync } from 'node:fs'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { TextError } from '#foundation/encoding.ts'
import { createFolder, renameOver, replaceFile, writePrivate } from '#foundation/file-system.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { readErrorCode, systemReason } from '#foundation/system-error.ts'
import { readTextFileSync } from '#foundation/text-file.ts'
import { CliError } from '#text/cli-error.ts'
import type { System } from '../run/system.ts'
import { type Locator, stateFailure } from '../settings/state-directory.ts'

export interface Certificate {
  /** Both PEM. */
  cert: string
  key: string
  /** The file with the certificate but without the key. */
  path: string
  /** The file of a key that was given. */
  key_path?: string
}

const dayMs = 86_400_000
/** Browsers accept no more than 398 days. */
const lifetimeDays = 397
/** A certificate is replaced this long before it expires: a sandbox may run for days. */
const renewalMs = 30 * dayMs
/** The maximum length of the names in a file name. */
const maxNameLength = 120

/** Reads the certificate and key from the given files. Throws CliError when one cannot be read. */
export function readCertificate(system: System, files: { cert: string; key: string }): Certificate {
  const path = resolve(system.cwd, files.cert)
  const cert = readPem(path, '--tls-cert')
  const key_path = resolve(system.cwd, files.key)
  return { cert, key: readPem(key_path, '--tls-key'), path, key_path }
}

function readPem(path: string, flag: string): string {
  try {
    return readTextFileSync(path)
  } catch (error) {
    const message =
      error instanceof TextError
        ? `${flag}: ${path} is no PEM file. ${error.message}.`
        : `${flag}: ${path} cannot be read: ${systemReason(error)}.`
    throw new CliError('usage', 'certificate_unreadable', message, 'Give a PEM file.')
  }
}

/**
 * Returns the certificate of the state directory `home` for loopback and `names`; creates it when there is none or it
 * expires soon. Throws CliError when the directory cannot be written.
 */
export async function ownCertificate(system: System, home: string, names: readonly string[]): Promise<Certificate> {
  const all = [...new Set(['localhost', '127.0.0.1', '::1', ...names.map(bare).filter((name) => name !== '')])]
  const folder = join(home, 'tls')
  const stem = join(folder, fileName(all))
  const path = `${stem}.crt`
  try {
    createFolder(folder, ownerOnly.folder)
    const pair = readPair(`${stem}.pem`, system.now(), all) ?? (await createPair(system, `${stem}.pem`, all))
    if (readOptional(path) !== pair.cert) replaceFile(path, pair.cert, ownerOnly)
    return { ...pair, path }
  } catch (error) {
    throw stateFailure(folder, error)
  }
}

/** Returns a host name in the form that certificates use: lower case, IPv6 without brackets. */
function bare(name: string): string {
  return name.toLowerCase().replace(/^\[|\]$/g, '')
}

/** `localhost`, or `localhost+devbox.local+192.168.1.5`: the names other than loopback. */
function fileName(names: readonly string[]): string {
  const others = names.slice(3).toSorted()
  const text = ['localhost', ...others].join('+').replace(/[^a-z0-9.+-]/g, '-')
  return text.length <= maxNameLength ? text : `${text.slice(0, maxNameLength)}-${others.length}`
}

/** Returns the pair of a file; null when it has to be created again. */
function readPair(file: string, now_ms: number, names: readonly string[]): { cert: string; key: string } | null {
  const text = readOptional(file)
  const [key] = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(text) ?? []
  const [cert] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/.exec(text) ?? []
  if (key === undefined || cert === undefined) return null
  const certificate = new X509Certificate(cert)
  const isCurrent = Date.parse(certificate.validTo) - now_ms > renewalMs
  const isComplete = names.every((name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)))
  return isCurrent && isComplete ? { cert, key } : null
}

function readOptional(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (readErrorCode(error) === 'ENOENT') return ''
    throw error
  }
}

/** Writes a new pair. When another start was faster, its pair is returned. */
async function createPair(system: System, file: string, names: readonly string[]) {
  const { generate } = await import('selfsigned')
  const made = await generate([{ name: 'commonName', value: 'svc sandbox' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    // A minute ago: clocks of phones and containers differ.
    notBeforeDate: new Date(system.now() - 60_000),
    notAfterDate: new Date(system.now() + lifetimeDays * dayMs),
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: names.map((name) => (isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name })),
      },
    ],
  })
  const pair = { cert: `${made.cert.trim()}\n`, key: `${made.private.trim()}\n` }
  const partial = `${file}.${system.pid}.part`
  rmSync(partial, { force: true })
  writePrivate(partial, pair.key + pair.cert)
  try {
    // Fails when the file exists: then it is a current one from another process, or it has to be replaced.
    linkSync(partial, file)
    rmSync(partial)
  } catch {
    const others = readPair(file, system.now(), names)
    if (others !== null) {
      rmSync(partial, { force: true })
      return others
    }
    renameOver(partial, file)
  }
  return pair
}

/**
 * Lets this process accept the certificates of running sandboxes: every client in it, including the global fetch. The
 * system's certificates are trusted as well: they include local authorities such as mkcert's.
 */
export async function trustCertificates(sandboxes: readonly Pick<Locator, 'certificate'>[]): Promise<void> {
  const paths = sandboxes.flatMap(({ certificate }) => certificate ?? [])
  if (paths.length === 0) return
  const { getCACertificates, setDefaultCACertificates } = await import('node:tls')
  const files = paths.map((path) => readFileOrNothing(path))
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system'), ...files.flat()])
}

/** Returns the certificates of a running sandbox from its file; null when the file is gone. */
export function readCertificateFile(path: string): Pick<Certificate, 'path' | 'cert'> | null {
  const certificates = readFileOrNothing(path)
  return certificates.length === 0 ? null : { path, cert: `${certificates.join('\n')}\n` }
}

/** Returns every certificate of a file. A missing file is not needed: its sandbox is gone too. */
function readFileOrNothing(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  } catch {
    return []
  }
}
