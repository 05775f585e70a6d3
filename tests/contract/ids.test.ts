import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeId, decodeInteger, encodeId, encodeInteger, type IdPrefix } from '../../src/contract/ids.ts'

const id = fc.oneof(fc.maxSafeNat(), fc.integer({ min: 0, max: 4096 }), fc.constant(Number.MAX_SAFE_INTEGER))
const prefix = fc.constantFrom<IdPrefix>('job', 'slot', 'req', 'key', 'ten', 'cns', 'ast', 'at', 'bt')

test('an identifier decodes to the integer it was made of', () => {
  fc.assert(fc.property(prefix, id, (kind, value) => decodeId(kind, encodeId(kind, value)) === value))
})

test('identifiers sort as their integers do', () => {
  fc.assert(
    fc.property(id, id, (a, b) => {
      const [textA, textB] = [encodeInteger(a), encodeInteger(b)]
      expect(textA < textB).toBe(a < b)
      expect(textA === textB).toBe(a === b)
    }),
  )
})

test('an identifier has one form on the wire', () => {
  expect(encodeId('slot', 7)).toBe('slot_00000000007')
  expect(encodeId('req', Number.MAX_SAFE_INTEGER)).toBe('req_7zzzzzzzzzz')
  fc.assert(fc.property(id, (value) => /^[0-9a-hjkmnp-tv-z]{11}$/.test(encodeInteger(value))))
})

test.each([
  ['another kind', 'job_00000000007'],
  ['no prefix', '00000000007'],
  ['too short', 'slot_7'],
  ['too long', 'slot_000000000007'],
  ['upper case', 'slot_0000000000A'],
  ['a letter outside the alphabet', 'slot_0000000000u'],
  ['more than 53 bits', 'slot_80000000000'],
  ['nothing', ''],
])('not an identifier: %s', (_, text) => {
  expect(decodeId('slot', text)).toBeNull()
})

test('any text decodes to null or encodes back to itself', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 14 }), (text) => {
      const value = decodeInteger(text)
      return value === null || encodeInteger(value) === text
    }),
  )
})
