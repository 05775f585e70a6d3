/** The signature of a callback (C07). WebCrypto alone: it works in Node, workers and browsers. */

/**
 * Whether a callback was signed with a key: `signature` is its x-csl-signature header, `key` the text of the secret key of
 * the call that created the job. Pass the body as it arrived, before it is parsed: the signature is over these bytes. The
 * comparison takes the same time wherever the signatures differ. Never throws; false for whatever is not a signature.
 */
export async function verifyCallback(
  body: string | Uint8Array | ArrayBuffer,
  signature: string | null | undefined,
  key: string,
): Promise<boolean> {
  const hex = /^sha256=([0-9a-f]{64})$/.exec(signature ?? '')?.[1]
  if (hex === undefined || key === '') return false
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body)
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const secret = await crypto.subtle.importKey('raw', new TextEncoder().encode(key), algorithm, false, ['verify'])
  const expected = Uint8Array.from(hex.match(/../g)!, (pair) => Number.parseInt(pair, 16))
  return crypto.subtle.verify('HMAC', secret, expected, bytes)
}
