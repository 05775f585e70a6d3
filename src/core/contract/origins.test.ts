import { describe, expect, test } from 'vitest'
import {
  frameAncestors,
  isOriginAllowed,
  normalizeOriginEntries,
  originEntryProblem,
  originOfUrl,
  pageOrigin,
  serializeOrigin,
} from './origins.ts'

describe('serializeOrigin', () => {
  test.each([
    ['https://app.example.com', 'https://app.example.com'],
    ['HTTPS://App.Example.COM', 'https://app.example.com'],
    ['https://app.example.com:443', 'https://app.example.com'],
    ['http://app.example.com:80', 'http://app.example.com'],
    ['http://app.example.com:443', 'http://app.example.com:443'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['capacitor://localhost', 'capacitor://localhost'],
    ['Ionic://LocalHost', 'ionic://localhost'],
    ['tauri://localhost', 'tauri://localhost'],
    ['app://-', 'app://-'],
    ['app://com.example.app:8443', 'app://com.example.app:8443'],
    ['chrome-extension://abcdefghijklmnopabcdefghijklmnop', 'chrome-extension://abcdefghijklmnopabcdefghijklmnop'],
    ['moz-extension://3c078156-979c-498b-8990-85f7987dd929', 'moz-extension://3c078156-979c-498b-8990-85f7987dd929'],
    ['vscode-webview://0a1b2c', 'vscode-webview://0a1b2c'],
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
    'file://',
    'file://host',
    'https://*.example.com',
    "https://a.example;script-src'unsafe-inline'",
    'capacitor://',
    'capacitor://localhost/',
    'capacitor://*',
    'capacitor://bücher',
    'chrome-extension:abc',
    'vscode-file://vscode-app',
    'electron://app',
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

  test('shells match exactly, in both modes', () => {
    for (const mode of ['test', 'live'] as const) {
      expect(isOriginAllowed('capacitor://localhost', ['capacitor://localhost'], mode)).toBe(true)
      expect(isOriginAllowed('capacitor://localhost:80', ['capacitor://localhost'], mode)).toBe(false)
      expect(isOriginAllowed('ionic://localhost', ['capacitor://localhost', 'http://localhost:*'], mode)).toBe(false)
    }
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

describe('an allow-list', () => {
  test('is kept as it is compared, each entry once', () => {
    const typed = ['HTTP://LocalHost:*', 'HTTP://LocalHost:3000', 'http://localhost:3000', 'https://BÜCHER.example:443']
    const kept = ['http://localhost:*', 'http://localhost:3000', 'https://xn--bcher-kva.example']
    expect(normalizeOriginEntries(typed)).toEqual(kept)
    expect(normalizeOriginEntries(kept)).toEqual(kept)
    expect(normalizeOriginEntries(['https://*.example.com'])).toEqual(['https://*.example.com'])
  })

  test.each([
    ['null', 'is the origin of a file or a sandboxed frame, which is never allowed', 'over http or https'],
    ['FILE:///home', 'is the origin of a file or a sandboxed frame, which is never allowed', 'over http or https'],
    ['https://*.example.com', 'has a wildcard', 'only http://localhost:* and http://127.0.0.1:* stand'],
    ['https://localhost:*', 'has a wildcard', 'each origin by itself'],
    ['*', 'has a wildcard', 'each origin by itself'],
    [
      'electron://app',
      'has the scheme electron:',
      'capacitor, ionic, tauri, app, chrome-extension, moz-extension, vscode',
    ],
    [
      'https://App.example.com/chat?x',
      'is not an origin',
      'only scheme, host and port, such as https://app.example.com',
    ],
    ['app.example.com/', 'is not an origin', 'only scheme, host and port, such as https://app.example.com'],
    ['tauri://localhost/', 'is not an origin', 'such as tauri://localhost'],
    ['capacitor://', 'is not an origin', 'capacitor://localhost'],
    ['', 'is not an origin', 'only scheme, host and port'],
  ])('%j is refused with what to write', (text, message, expected) => {
    expect(originEntryProblem(text)).toMatchObject({ message, expected: expect.stringContaining(expected) })
  })

  test('becomes the sources of frame-ancestors that the matcher allows in this mode', () => {
    const allowed = ['http://localhost:*', 'http://[::1]:3000', 'https://*.a.example', 'app://-', "https://a'; x"]
    expect(frameAncestors(allowed, 'test')).toEqual(['http://localhost:*', 'app://-'])
    expect(frameAncestors(allowed, 'live')).toEqual(['app://-'])
    const editor = ['vscode-webview://0a1b2c', 'vscode-file://vscode-app']
    expect(frameAncestors(['vscode-webview://0a1b2c'], 'live')).toEqual(editor)
  })

  test('names an origin for a page: of the web before those of shells', () => {
    expect(pageOrigin(['app://-', 'http://localhost:*'])).toBe('http://localhost:3000')
    expect(pageOrigin(['app://-'])).toBe('app://-')
    expect(pageOrigin([])).toBeUndefined()
  })
})

test('the origin of a URL, shells included', () => {
  expect(originOfUrl('https://user:pw@App.example.com:443/chat?q=//x')).toBe('https://app.example.com')
  expect(originOfUrl('capacitor://localhost/index.html#top')).toBe('capacitor://localhost')
  for (const url of ['', 'null', 'about:blank', 'file:///a', '/chat']) expect(originOfUrl(url)).toBeNull()
})
