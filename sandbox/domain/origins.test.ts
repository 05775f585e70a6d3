import { describe, expect, test } from 'vitest'
import { isOriginAllowed, serializeOrigin } from './origins.ts'

describe('serializeOrigin', () => {
  test.each([
    ['https://app.example.com', 'https://app.example.com'],
    ['HTTPS://App.Example.COM', 'https://app.example.com'],
    ['https://app.example.com:443', 'https://app.example.com'],
    ['http://app.example.com:80', 'http://app.example.com'],
    ['http://app.example.com:443', 'http://app.example.com:443'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ])('%s is %s', (text, origin) => {
    expect(serializeOrigin(text)).toBe(origin)
  })

  test.each([
    'null',
    '',
    'app.example.com',
    'https://',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://app.example.com?query',
    'https://app.example.com#fragment',
    'https://app.example.com\\path',
    'https://user:secret@app.example.com',
    'https://app.example.com:99999',
    'http://localhost:*',
    ' https://app.example.com',
    'https://app.example.com\n',
    'https://a.example https://b.example',
    'ftp://app.example.com',
    'file:///etc/hosts',
    'javascript:alert(1)',
  ])('%j is no origin', (text) => {
    expect(serializeOrigin(text)).toBeNull()
  })
})

describe('isOriginAllowed', () => {
  const exact = ['https://app.example.com']
  const local = ['http://localhost:*', 'http://127.0.0.1:*']

  test('scheme, host and port must be the same', () => {
    expect(isOriginAllowed('https://app.example.com', exact, 'live')).toBe(true)
    expect(isOriginAllowed('https://APP.example.com:443', exact, 'live')).toBe(true)
    expect(isOriginAllowed('http://app.example.com', exact, 'live')).toBe(false)
    expect(isOriginAllowed('https://app.example.com:8443', exact, 'live')).toBe(false)
    expect(isOriginAllowed('https://app.example.com.evil.example', exact, 'live')).toBe(false)
    expect(isOriginAllowed('https://www.app.example.com', exact, 'live')).toBe(false)
  })

  test('null never matches, even when it is listed', () => {
    expect(isOriginAllowed('null', ['null', ...exact], 'test')).toBe(false)
  })

  test('a setting may be written in capitals or with its default port', () => {
    expect(isOriginAllowed('https://app.example.com', ['HTTPS://App.Example.com:443'], 'live')).toBe(true)
  })

  test('any port of localhost in test mode', () => {
    for (const origin of [
      'http://localhost:3000',
      'http://localhost',
      'http://LOCALHOST:80',
      'http://127.0.0.1:5173',
    ]) {
      expect(isOriginAllowed(origin, local, 'test'), origin).toBe(true)
      expect(isOriginAllowed(origin, local, 'live'), origin).toBe(false)
    }
  })

  test.each([
    'https://localhost:3000',
    'http://localhost.evil.example',
    'http://localhost.evil.example:3000',
    'http://localhost:3000@evil.example',
    'http://127.0.0.10:3000',
    'http://127.0.0.1.evil.example',
  ])('%s is not localhost', (origin) => {
    expect(isOriginAllowed(origin, local, 'test')).toBe(false)
  })

  test('other patterns match nothing', () => {
    expect(
      isOriginAllowed('https://a.example.com', ['https://*.example.com', '*', 'https://a.example.com:*'], 'test'),
    ).toBe(false)
  })
})
