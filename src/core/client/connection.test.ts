/** Why a service cannot be reached: in words for each code that TLS, HTTP and the system have. */
import { constants } from 'node:os'
import { describe, expect, test } from 'vitest'
import { UnreachableError } from './errors.ts'

/** The codes of Node's documentation of TLS: "X509 certificate error codes", and its own two. */
const certificateCodes = [
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_CRL', 'UNABLE_TO_DECRYPT_CERT_SIGNATURE', 'CERT_REJECTED'],
  ...['UNABLE_TO_DECRYPT_CRL_SIGNATURE', 'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY', 'CERT_SIGNATURE_FAILURE'],
  ...['CRL_SIGNATURE_FAILURE', 'CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED', 'CRL_NOT_YET_VALID', 'CRL_HAS_EXPIRED'],
  ...['ERROR_IN_CERT_NOT_BEFORE_FIELD', 'ERROR_IN_CERT_NOT_AFTER_FIELD', 'ERROR_IN_CRL_LAST_UPDATE_FIELD'],
  ...['ERROR_IN_CRL_NEXT_UPDATE_FIELD', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'INVALID_CA'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_CHAIN_TOO_LONG', 'CERT_REVOKED'],
  ...['PATH_LENGTH_EXCEEDED', 'INVALID_PURPOSE', 'CERT_UNTRUSTED', 'HOSTNAME_MISMATCH', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]

/** As fetch throws it, and as node:http does. */
function failures(base_url: string, code: string, message: string): UnreachableError[] {
  const cause = Object.assign(new Error(message), { code, syscall: 'connect' })
  return [cause, new TypeError('fetch failed', { cause })].map((each) => new UnreachableError(base_url, 1, each))
}

describe('a certificate that is not accepted is named, with what trusts it', () => {
  test.each(certificateCodes)('%s', (code) => {
    for (const { message, hint } of failures('https://ads.test', code, 'words of OpenSSL')) {
      expect(message).toMatch(/^https:\/\/ads\.test cannot be reached: its certificate [a-z ]+\.$/)
      expect(hint).toMatch(/^[A-Z][^\n]+\.$/)
    }
  })

  test('a self-signed one is trusted by a variable', () => {
    const [{ hint }] = failures('https://ads.test', 'DEPTH_ZERO_SELF_SIGNED_CERT', '') as [UnreachableError]
    expect(hint).toContain('NODE_EXTRA_CA_CERTS=FILE')
  })
})

const opensslLine =
  'write EPROTO 4033CF2E307F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../ssl.c:78:\n'

test.each([
  ['EPROTO', opensslLine],
  ['ERR_SSL_WRONG_VERSION_NUMBER', opensslLine.slice('write EPROTO '.length)],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'error:0A0000C6:SSL routines::packet length too long'],
])('https to a service that speaks http: %s', (code, line) => {
  for (const { message, hint } of failures('https://127.0.0.1:4010', code, line)) {
    expect([message, hint]).toEqual([
      'https://127.0.0.1:4010 cannot be reached: it speaks http, not https.',
      'Use http://127.0.0.1:4010',
    ])
  }
})

test.each([
  ['ECONNRESET', 'socket hang up', 'it closed the connection without a response'],
  ['UND_ERR_SOCKET', 'other side closed', 'it closed the connection without a response'],
  ['HPE_INVALID_CONSTANT', 'Parse Error: Expected HTTP/', 'its response is not HTTP'],
  ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', opensslLine.replace('wrong version number', 'handshake failure'), 'TLS'],
])('%s is named without the line of its library', (code, line, words) => {
  for (const { message } of failures('http://127.0.0.1:4010', code, line)) {
    expect(message).toMatch(/^http:\/\/127\.0\.0\.1:4010 cannot be reached: [^\n]+\.$/)
    expect(message).toContain(words)
    expect(message).not.toContain(line)
  }
})

test.each(Object.keys(constants.errno))('%s of the system', (code) => {
  for (const base_url of ['http://ads.test', 'https://ads.test']) {
    for (const { message } of failures(base_url, code, `${code}: words, connect`)) {
      expect(message).toMatch(/ cannot be reached: [a-zA-Z][^\n:]+\.$/)
    }
  }
})
