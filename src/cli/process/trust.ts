/** Lets programs in other languages accept the certificate of a sandbox, beside the certificates that they accept anyway. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownerOnly } from '../../foundation/permissions.ts'
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
 * names is kept in its new one. Without a temporary folder only Node gets the certificate.
 */
export async function trustForPrograms(
  { path, cert }: Certificate,
  env: Readonly<Record<string, string | undefined>>,
): Promise<TrustedBundles> {
  const notes: string[] = []
  const readGiven = (name: string): string => {
    const file = env[name]
    if (!file) return ''
    try {
      return `${readFileSync(file, 'utf8').trimEnd()}\n`
    } catch (error) {
      notes.push(`${name} is ignored: ${(error as Error).message}.`)
      return ''
    }
  }
  const roots = await systemRoots()
  const contents = new Map([[adding, readGiven(adding) + cert]])
  for (const name of replacing) contents.set(name, (readGiven(name) || roots) + cert)
  let folder: string | null = null
  const remove = () => {
    if (folder !== null) rmSync(folder, { recursive: true, force: true })
  }
  try {
    folder = mkdtempSync(join(tmpdir(), 'svc-exec-'))
    const variables: Record<string, string> = {}
    for (const [name, text] of contents) {
      const file = join(folder, `${name}.pem`)
      writeFileSync(file, text, { mode: ownerOnly.file })
      variables[name] = file
    }
    return { variables, notes, remove }
  } catch (error) {
    remove()
    notes.push(`Only Node accepts the certificate, without those of ${adding}: ${(error as Error).message}.`)
    return { variables: { [adding]: path }, notes, remove: () => {} }
  }
}

/** Returns the system's certificates; those of Node where the system has none, as in a slim container. */
async function systemRoots(): Promise<string> {
  const { getCACertificates } = await import('node:tls')
  const system = getCACertificates('system')
  return (system.length > 0 ? system : getCACertificates('bundled')).map((each) => `${each.trimEnd()}\n`).join('')
}
