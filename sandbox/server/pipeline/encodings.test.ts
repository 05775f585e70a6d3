import { expect, test } from 'vitest'
import { codingFor } from './encodings.ts'

test.each([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['X-GZip', 'gzip'],
  ['BR', 'br'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['br; q=1.000 , gzip;q=1', 'br'],
  ['*', 'br'],
  ['br;q=0, *', 'gzip'],
  ['gzip;q=0.001', 'gzip'],
  ['identity, gzip', 'gzip'],
  ['identity;q=0, br;q=0.1', 'br'],
  ['br;q=2, gzip', 'br'],
])('%j gets %s', (header, coding) => {
  expect(codingFor(header)).toBe(coding)
})

test.each([undefined, '', 'identity', 'deflate, zstd', 'br;q=0, gzip;q=0', '*;q=0', 'identity, gzip;q=0.5', ','])(
  '%j gets the file as it is',
  (header) => {
    expect(codingFor(header)).toBeNull()
  },
)

test('nothing that is acceptable gets the file as it is', () => {
  expect(codingFor('identity;q=0, deflate')).toBeNull()
})
