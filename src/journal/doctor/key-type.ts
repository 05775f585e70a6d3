/** Key type: the first of the five points to check when migrating. */
import { reasonCodes } from '../../contract/errors.ts'
import { type Traffic, times } from '../exchange.ts'
import { type Check, orOk, warning } from './finding.ts'
import { refusals } from './journal-check.ts'

const mistakes = [
  'key_class',
  'secret_key_in_browser',
  'publishable_key_malformed',
  'token_in_wrong_place',
  'test_outcome_requires_test_key',
  'key_unknown',
  'key_revoked',
  'credential_missing',
] as const

const fixes = Object.fromEntries(mistakes.map((reason) => [reason, reasonCodes[reason].hint]))

export const keyType: Check<Traffic> = {
  name: 'key type',
  find: ({ exchanges }) => {
    const warned = exchanges.filter(({ detail }) =>
      detail?.response_headers['x-sandbox-warning']?.includes('secret_key_in_browser'),
    )
    return orOk(
      [
        ...refusals(exchanges, fixes),
        ...(warned.length === 0
          ? []
          : [
              warning(
                `A secret key came from a browser page ${times(warned.length)}; this project lets it pass.`,
                reasonCodes.secret_key_in_browser.hint,
              ),
            ]),
      ],
      'Every request came with a kind of key that its endpoint takes.',
    )
  },
}
