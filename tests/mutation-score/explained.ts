/**
 * The mutants that survive because nobody can notice them. An entry that fits another number of survivors makes `npm run
 * mutation-score` fail, so none outlives its code.
 */
import type { Explanation } from './verdict.ts'

const compilerOnly = 'The comparison is for the compiler: null fails the next one too.'
const rareDraw = 'Differs when a draw of 32 bits is exactly the share, once in four thousand million.'
const oneRoundMore = 'One round more finds nothing: there is no element at that position.'
const distinctNames = 'The names that are compared are those of different entries: none equals another.'

export const explained: readonly Explanation[] = [
  { in: 'sandbox/rules/domain/billing-report.ts', code: 'one < other', becomes: 'one <= other', why: distinctNames },
  {
    in: 'sandbox/rules/domain/billing-report.ts',
    code: 'a.reason_code < b.reason_code',
    becomes: 'a.reason_code <= b.reason_code',
    why: distinctNames,
  },
  {
    in: 'sandbox/rules/domain/billing-report.ts',
    code: 'name(one) < name(other)',
    becomes: 'name(one) <= name(other)',
    why: distinctNames,
  },
  {
    in: 'sandbox/rules/domain/billing-verdict.ts',
    code: 'event !== null',
    becomes: 'true',
    why: compilerOnly,
  },
  {
    in: 'sandbox/rules/domain/billing-verdict.ts',
    code: 'format !== null',
    becomes: 'true',
    why: 'A placement with a price has a format. The comparison is for the compiler.',
  },
  {
    in: 'sandbox/rules/domain/consent.ts',
    code: 'stored !== null',
    becomes: 'true',
    why: 'A draft renews nothing without a stored consent, so it repeats none. The comparison is for the compiler.',
  },
  {
    in: 'sandbox/rules/domain/faults.ts',
    code: 'random(rule.seed, matched, 0) < rule.rate',
    becomes: 'random(rule.seed, matched, 0) <= rule.rate',
    why: rareDraw,
  },
  {
    in: 'sandbox/rules/domain/topics.ts',
    code: '[]',
    becomes: '["Stryker was here"]',
    why: 'No keyword ends at the root of the tree: its list is never read.',
  },
  {
    in: 'sandbox/rules/domain/topics.ts',
    code: 'start < words.length',
    becomes: 'start <= words.length',
    why: oneRoundMore,
  },
  {
    in: 'sandbox/rules/domain/topics.ts',
    code: 'end < words.length',
    becomes: 'end <= words.length',
    why: oneRoundMore,
  },
  {
    in: 'sandbox/rules/domain/topics.ts',
    code: 'text.toLowerCase()',
    becomes: 'text.toUpperCase()',
    why: 'Texts and keywords are folded alike. The few letters whose capitals are two, such as ß, may match either way.',
  },
]
