/** Prompts and bodies of any text: what the redactor and the search for personal data make of them, and how fast. */
import { findPersonalData } from '#foundation/personal-data/personal-data.ts'
import { mayHoldSecrets, redactSecrets, secretKind } from '#foundation/redaction.ts'
import { check, checkSame, type FuzzTarget } from '../target.ts'

const secrets = [
  'sk_test_sandbox_demo',
  'ast_00000000001_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ',
  'sbx_abcdefghijklmnop',
]

export const target: FuzzTarget = {
  max_bytes: 3_000,
  words: [
    ...[
      'ann@example.org',
      ' at example dot org',
      '+49 170 1234567',
      'DE71 2730 0837 1247 1406 44',
      '4539 8993 0111 4044',
      'eyJ',
    ],
    ...[
      'sk_live_',
      'ast_0',
      '_redacted',
      '%5F',
      '\\u005f',
      '%255F',
      'api key: ',
      '12 Baker Street, London',
      '(at)',
      '-----BEGIN ',
      'calle ',
    ],
  ],
  run(bytes) {
    const text = bytes.toString('utf8')
    const kinds = findPersonalData(text)
    check(new Set(kinds).size === kinds.length, 'a kind is named twice')
    const redacted = redactSecrets(text)
    // What stands in place of a secret can be the end of another one: that is redacted the second time, and nothing after it.
    const again = redactSecrets(redacted)
    checkSame(redactSecrets(again), again, 'redacted a third time')
    if (secretKind(text) !== null) check(redacted !== text && mayHoldSecrets(text), 'a secret stays, or is overlooked')
    // The character before a secret does not matter; a blank behind it ends it.
    for (const secret of secrets) {
      check(!redactSecrets(`${text}${secret} ${text}`).includes(secret), `${secret} stayed in a text`)
    }
  },
}
