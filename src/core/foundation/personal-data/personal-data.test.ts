import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findPersonalData } from './personal-data.ts'

/** The topics of the fixture: the kind of personal data in each, or `none`. */
const topics = readFileSync(new URL('topics.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [kind = '', topic = ''] = line.split('\t')
    return { kind, topic }
  })
const [personal, others] = [topics.filter(({ kind }) => kind !== 'none'), topics.filter(({ kind }) => kind === 'none')]

test('of 100 topics with personal data at least 95 are found, and of 100 others at most 2', () => {
  expect([personal.length, others.length]).toEqual([100, 100])
  expect(new Set(topics.map(({ topic }) => topic)).size).toBe(200)
  const missed = personal.filter(({ topic }) => findPersonalData(topic).length === 0)
  const found = others.filter(({ topic }) => findPersonalData(topic).length > 0)
  expect(missed.length, missed.map(({ topic }) => topic).join('\n')).toBeLessThanOrEqual(5)
  expect(found.length, found.map(({ topic }) => topic).join('\n')).toBeLessThanOrEqual(2)
})

test('what is found is of the kind that it is', () => {
  const wrong = personal.flatMap(({ kind, topic }) => {
    const kinds = findPersonalData(topic)
    return kinds.length === 0 || kinds.join() === kind ? [] : [`${topic}: ${kinds}`]
  })
  expect(wrong).toEqual([])
})

test.each([
  ['4539 8993 0111 4044', '4539 8993 0111 4045', 'card_number'],
  ['3742-687467-27446', '3742-687467-27447', 'card_number'],
  ['DE71 2730 0837 1247 1406 44', 'DE71 2730 0837 1247 1406 45', 'iban'],
  ['gb59nwbk39112576839639', 'gb59nwbk3911257683963', 'iban'],
])('a number counts only with its check digit: %s, not %s', (right, wrong, kind) => {
  expect(findPersonalData(`paid with ${right}.`)).toEqual([kind])
  expect(findPersonalData(`paid with ${wrong}.`)).toEqual([])
})

test('digits and signs of other scripts, and invisible characters, hide nothing', () => {
  expect(findPersonalData('カード ５４２５１０８１７４０３０３７６')).toEqual(['card_number'])
  expect(findPersonalData('اتصل ‎هاتف ٠٥٠١٢٣٤٥٦٧')).toEqual(['phone_number'])
  expect(findPersonalData('ann\u200b＠example.org')).toEqual(['email_address'])
  expect(findPersonalData('+49\u2011170\u00a01234567')).toEqual(['phone_number'])
})

test('several kinds in one text are all named, in a fixed order', () => {
  const text = 'DE71 2730 0837 1247 1406 44 of ann@example.org, call +44 7700 900123'
  expect(findPersonalData(text)).toEqual(['email_address', 'phone_number', 'iban'])
})

test('a street alone is none: it takes a code, a flat, a town, or words that say whose it is', () => {
  expect(findPersonalData('5 minutes from 12 Baker Street movie')).toEqual([])
  for (const text of [
    '12 Baker Street NW1 6XE',
    '12 Baker Street flat 3',
    '12 Baker Street, London',
    'deliver it to 12 Baker Street',
  ]) {
    expect([text, findPersonalData(text)]).toEqual([text, ['postal_address']])
  }
})

test('long texts that almost match everywhere are searched once', () => {
  // Each of these would take minutes with an expression that starts again at every character.
  for (const part of ['市', 'a@', '1 ', '1 a ', 'calle a ', 'secret key ', 'Abc 1, ', 'eyJ', '(at) ', '1-']) {
    expect(findPersonalData(`${part.repeat(20_000)} street`)).toEqual([])
  }
})
