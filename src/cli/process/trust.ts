/** Lets programs in other languages accept the certificate of a sandbox, beside the certificates that they accept anyway. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFolder, replaceFile } from '#foundation/file-system.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { systemReason } from '#foundation/system-error.ts'
import type { Certificate } from './certificate.ts'

/** The variables of OpenSSL (Python, Ruby, curl), Go, curl and Python requests: each file replaces the system's. */
const replacing = ['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE']
/** The variable of Node, which adds a file to its own certificates. */
const adding = 'NODE_EXTRA_CA_CERTS'

export interface TrustedBundles {
  /** Environment variables with the paths of files. */
  variables: Record<string, string>
  /** What a program will not accept, and why. */
  notes: string[]
  remove(): void
}

/**
 * Writes the files of certificates that a program needs to reach a sandbox with https. A file that a variable already
 * names is kept in its new one. Without a folder, by default a temporary one, only Node gets the certificate.
 */
export async function trustForPrograms(
  { path, cert }: Pick<Certificate, 'path' | 'cert'>,
  env: Readonly<Record<string, string | undefined>>,
  createIn: () => string = () => mkdtempSync(join(tmpdir(), 'svc-exec-')),
): Promise<TrustedBundles> {
  const notes: string[] = []
  const readGiven = (name: string): string => {
    const file = env[name]
    if (!file) return ''
    try {
      return `${readFileSync(file, 'utf8').trimEnd()}\n`
    } catch (error) {
      notes.push(`${name} is ignored: ${file} cannot be read: ${systemReason(error)}.`)
      return ''
    }
  }
  const roots = await systemRoots()
  // A file of ours, from an earlier `svc sandbox env`, has it already.
  const withOwn = (others: string) => (others.includes(cert.trim()) ? others : others + cert)
  const contents = new Map([[adding, withOwn(readGiven(adding))]])
  for (const name of replacing) contents.set(name, withOwn(readGiven(name) || roots))
  let folder: string | null = null
  const remove = () => {
    if (folder !== null) rmSync(folder, { recursive: true, force: true })
  }
  try {
    folder = createIn()
    const variables: Record<string, string> = {}
    for (const [name, text] of contents) {
      const file = join(folder, `${name}.pem`)
      replaceFile(file, text, ownerOnly)
      variables[name] = file
    }
    return { variables, notes, remove }
  } catch (error) {
    remove()
    const reason = systemReason(error)
    notes.push(`Only Node accepts the certificate, without those of ${adding}: no folder for the others: ${reason}.`)
    return { variables: { [adding]: path }, notes, remove: () => {} }
  }
}

/** Creates the folder in the state directory for the files of a certificate, which stay. Returns its path. */
export function keptFolder(home: string, { cert }: Pick<Certificate, 'cert'>): string {
  const name = createHash('sha256').update(cert).digest('hex').slice(0, 12)
  const folder = join(home, 'tls', `trust-${name}`)
  createFolder(folder, ownerOnly.folder)
  return folder
}

/** Returns the system's certificates; those of Node where the system has none, as in a slim container. */
async function systemRoots(): Promise<string> {
  const { getCACertificates } = await import('node:tls')
  const system = getCACertificates('system')
  return (system.length > 0 ? system : getCACertificates('bundled')).map((each) => `${each.trimEnd()}\n`).join('')
}
