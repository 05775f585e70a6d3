/** Private keys in any text: PEM, OpenPGP, SSH2, PuTTY, DER in base64, and JWK. */

const keyStart = /-{4,5} ?BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|PuTTY-User-Key-File-\d{1,2}:/g
const keyEnd =
  /-{4,5} ?END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\bPrivate-(?:MAC|Hash): ?[\da-fA-F]{1,128}/g
const mayHaveKey = /BEGIN |PuTTY-|kty|M[A-I][\w+/-]{2}|b3BlbnNzaC1/

/** Returns a text without private keys, encrypted ones too. A text of several lines without an end takes all of the text behind it. @param redacted what stands in their place */
export function withoutPrivateKeys(text: string, redacted: string): string {
  if (!mayHaveKey.test(text)) return text
  return withoutKeyFiles(withoutJsonKeys(text, redacted), redacted).replace(derKey, redacted)
}

function withoutKeyFiles(text: string, redacted: string): string {
  let kept = ''
  let copied = 0
  for (const { index } of text.matchAll(keyStart)) {
    if (index < copied) continue
    keyEnd.lastIndex = index
    const end = keyEnd.exec(text) === null ? text.length : keyEnd.lastIndex
    kept += text.slice(copied, index) + redacted
    copied = end
    if (end === text.length) break
  }
  return kept + text.slice(copied)
}

/**
 * How the DER of PKCS #1, #8 and #12, of SEC 1 and of encrypted keys begins, and OpenSSH's format, in base64: a sequence, its length, and
 * a version. Certificates, requests for them and public keys begin with another sequence.
 */
const derKey =
  /(?<![\w+/-])(?:MII[\w+/-]{2}[AQgw]IBA(?:[DTz][A-C]|A[I-K])|MI[GH][\w+/-]AgE(?:A[AM]|BB)|M[A-H][\w+/-]CAQ(?:EE|[AE]wB[QgwM]|AwBQYDK2V)|MII[\w+/-]{5}BgkqhkiG9w0BBQ|MI[GH][\w+/-]M[\w+/-]{2}GCSqGSIb3DQEF|b3BlbnNzaC1rZXktdjE)[\w+/-]{24,16384}(?:[\r\n]{1,4}[ \t]{0,16}[\w+/-]{1,1024}){0,512}={0,2}/g

/** An object without others in it. */
const innerObject = /\{[^{}]{16,32768}\}/g
const isKey = /["']?\bkty["']?\s{0,8}:/
const keyPart = /(?<=[{,\s]["']?(?:d|p|q|dp|dq|qi|k)["']?\s{0,8}:\s{0,8}["'])[\w+/=-]{16,8192}(?=["'])/g

/** Returns a text without the private parts of keys in JSON (JWK): the public ones stay. */
export function withoutJsonKeys(text: string, redacted: string): string {
  if (!text.includes('kty')) return text
  return text.replace(innerObject, (object) => (isKey.test(object) ? object.replace(keyPart, redacted) : object))
}
