import { describe, expect, test } from 'vitest'
import { withoutPersonal } from './recorded-parts.ts'
import { describeUnvalidated } from './redaction.ts'
import { redactNamedSecrets } from './secret-names.ts'

describe('numbers', () => {
  test.each([
    '{"token_count": 1200, "max_tokens": 4096, "total_tokens":98000, "usage": {"tokens": 12345}}',
    '{"expires_in": 3600, "token_expires_at_ms": 1790000000000, "password_length": 1000}',
    '{"pin": 13, "pins": [1024, 2048], "pinned_at": 1790000000, "shipping": 12345, "spin": 1234}',
    '{"password_attempts": 10000, "secretary_id": 12345, "key": 123456, "zip_code": 94107, "status_code": 40401}',
    '{"price": 12345.67, "token": 1.5e10, "secret": 12, "password": null, "pin": true, "id": 12345678901234567890}',
    '{"asset_token": 123456, "seq": 1e400',
  ])('that are no secrets keep their bytes: %s', (text) => {
    expect(redactNamedSecrets(text)).toBe(text)
  })

  test.each([
    ['{"pin":123456}', '{"pin":0}'],
    ['{"pin": "123456"}', '{"pin": "[redacted]"}'],
    ['{"user":{"userPassword":12345678,"name":"ana"}}', '{"user":{"userPassword":0,"name":"ana"}}'],
    ['{"api_key" : 99887766 , "apiKey":99887766}', '{"api_key" : 0 , "apiKey":0}'],
    ['{"pin_code":"0042","otp":-123456}', '{"pin_code":"[redacted]","otp":-0}'],
    ['[{"passcode":1234},{"passcode":5678}]', '[{"passcode":0},{"passcode":0}]'],
    ['{"note":"{\\"pin\\":123456}"}', '{"note":"{\\"pin\\":0}"}'],
  ])('by the last word of their name: %s', (text, kept) => {
    expect(redactNamedSecrets(text)).toBe(kept)
  })

  test('in requests too, of a field that is free and of a body that the contract does not know', () => {
    const body = { metadata: { pin: 123456, digits: '4', otp: '123456', seq: 1234 } }
    expect(withoutPersonal(body)).toEqual({
      metadata: { pin: 0, digits: '4', otp: '[removed: 6 characters]', seq: 1234 },
    })
    expect(describeUnvalidated('{"password":12345678,"seq":1234}')).toBe('{"password":0,"seq":1234}')
  })
})
