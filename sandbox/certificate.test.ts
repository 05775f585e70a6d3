/** Certificates and keys that a start refuses, each in a sentence, and those that it warns about. */
import { createPrivateKey } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { certificateWarnings, readCertificate } from './certificate.ts'
import type { SandboxError } from './sandbox-error.ts'

const day_ms = 86_400_000
const now_ms = Date.UTC(2026, 10, 27)

async function pair(options: Parameters<typeof generate>[1] = {}): Promise<{ cert: string; key: string }> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ...options,
  })
  return { cert, key }
}

function refusal(files: { cert: string; key: string }): SandboxError {
  try {
    readCertificate(files)
  } catch (error) {
    return error as SandboxError
  }
  throw new Error('it was accepted')
}

const encrypted = (key: string, type: 'pkcs8' | 'sec1') =>
  createPrivateKey(key).export({ format: 'pem', type, cipher: 'aes-256-cbc', passphrase: 'secret' }) as string

const rsa = { keyType: 'rsa' } as const

describe('a start is refused', () => {
  const cases: [string, () => Promise<{ cert: string; key: string }>, string][] = [
    ['a certificate that is none', async () => ({ ...(await pair()), cert: 'text' }), 'is not a certificate in PEM'],
    ['an empty certificate', async () => ({ ...(await pair()), cert: '' }), 'is not a certificate in PEM'],
    ['a key that is none', async () => ({ ...(await pair()), key: 'text' }), 'is not a private key in PEM'],
    ['two certificates', async () => pair().then(({ cert }) => ({ cert, key: cert })), 'is not a private key in PEM'],
    ['a key of another', async () => ({ ...(await pair()), key: (await pair()).key }), 'does not belong to'],
    [
      'an encrypted key',
      async () => pair().then(({ cert, key }) => ({ cert, key: encrypted(key, 'pkcs8') })),
      'is encrypted with a passphrase',
    ],
    [
      'an encrypted key of the old form',
      async () => pair().then(({ cert, key }) => ({ cert, key: encrypted(key, 'sec1') })),
      'is encrypted with a passphrase',
    ],
    ['RSA with 1024 bits', () => pair({ ...rsa, keySize: 1_024 }), 'is too weak: RSA with 1024 bits'],
    ['a signature with SHA-1', () => pair({ ...rsa, keySize: 2_048, algorithm: 'sha1' }), 'a hash that is too weak'],
  ]

  test.each(cases)('with %s', async (_, made, words) => {
    const error = refusal(await made())
    expect(error).toMatchObject({ code: 'option_invalid', message: expect.stringContaining(words) })
    expect(`${error.message} ${error.hint}`).toMatch(/^The TLS [^\n]+\. [A-Z][^\n]+$/)
    expect(error.message).not.toMatch(/OpenSSL|SSL routines|error:/)
  })
})

describe('a start warns', () => {
  const from = (from_days: number, to_days: number) =>
    pair({
      notBeforeDate: new Date(now_ms + from_days * day_ms),
      notAfterDate: new Date(now_ms + to_days * day_ms),
    })

  test.each([
    [-9, -2, 'the certificate expired on 2026-11-25: clients refuse it. Make another, or start with --tls'],
    [3, 9, 'the certificate is not valid before 2026-11-30: clients refuse it until then'],
    [-1, 1, undefined],
  ])('of one that is valid from day %i to day %i', async (first, last, warning) => {
    const files = await from(first, last)
    readCertificate(files)
    expect(certificateWarnings(files, now_ms)).toEqual(warning === undefined ? [] : [warning])
  })

  const modeTest = process.platform === 'win32' ? null : test

  modeTest?.each([
    [0o600, false],
    [0o640, false],
    [0o644, true],
    [0o604, true],
  ])('of a key with the mode %o: %s', async (mode, isWarned) => {
    const files = await from(-1, 1)
    const key_path = join(temporaryDirectory(), 'key.pem')
    writeFileSync(key_path, files.key)
    chmodSync(key_path, mode)
    const warning = `every user of this computer can read the TLS key: chmod 600 ${key_path}`
    expect(certificateWarnings({ ...files, key_path }, now_ms)).toEqual(isWarned ? [warning] : [])
    // There, permissions are no modes.
    expect(certificateWarnings({ ...files, key_path }, now_ms, 'win32')).toEqual([])
  })
})
