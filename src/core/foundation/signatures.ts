/** Signatures that anyone can check: Ed25519 over UTF-8 text. The sandbox and the command line decide by this. */
import { createPublicKey, verify } from 'node:crypto'

interface Signed {
  /** Base64url, 64 bytes. */
  signature: string
  /** Base64url, 32 bytes. */
  public_key: string
}

/** Whether a signature over a text holds. Base64url has several spellings of some bytes: only one is accepted. */
export function isSigned(text: string, { signature, public_key }: Signed): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  const key_bytes = Buffer.from(public_key, 'base64url')
  if (bytes.toString('base64url') !== signature || key_bytes.toString('base64url') !== public_key) return false
  if (bytes.length !== 64 || key_bytes.length !== 32) return false
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: public_key }, format: 'jwk' })
  return verify(null, Buffer.from(text), key, bytes)
}
