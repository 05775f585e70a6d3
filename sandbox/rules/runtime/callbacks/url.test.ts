import { describe, expect, test } from 'vitest'
import { type CallbackTarget, classifyAddress, findAddressProblem, parseCallbackUrl } from './url.ts'

const target = (text: string): CallbackTarget => {
  const parsed = parseCallbackUrl(text)
  if (typeof parsed === 'string') throw new Error(`${text} ${parsed}`)
  return parsed
}

describe('a callback URL', () => {
  test.each([
    ['https://hooks.example.com/csl?app=1', 'hooks.example.com', 443],
    ['https://93.184.215.14/', '93.184.215.14', 443],
    ['https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:8443/', '2606:2800:21f:cb07:6820:80da:af6b:8b2c', 8443],
    ['http://localhost:3000/hook', 'localhost', 3000],
    ['http://LOCALHOST.:3000/hook', 'localhost', 3000],
    ['http://app.localhost/', 'app.localhost', 80],
    ['http://127.0.0.1:3000/', '127.0.0.1', 3000],
    ['http://127.9.9.9/', '127.9.9.9', 80],
    ['http://2130706433/', '127.0.0.1', 80],
    ['http://0x7f.1/', '127.0.0.1', 80],
    ['http://0177.0.0.1/', '127.0.0.1', 80],
    ['http://127.0.0.1./', '127.0.0.1', 80],
    ['http://[::1]:3000/', '::1', 3000],
    ['http://[::ffff:127.0.0.1]/', '::ffff:7f00:1', 80],
    ['https://localhost/', 'localhost', 443],
  ])('%s is allowed', (text, host, port) => {
    expect(target(text)).toMatchObject({ host, port })
  })

  test.each([
    ['', 'is not a URL'],
    ['/hook', 'is not a URL'],
    ['http://256.1.1.1/', 'is not a URL'],
    [`https://example.com/${'x'.repeat(2_048)}`, 'is not a URL'],
    ['ftp://example.com/', 'begins with ftp:, not https:'],
    ['file:///etc/passwd', 'begins with file:, not https:'],
    ['https://user@example.com/', 'has a user name or a password in it'],
    ['https://user:word@example.com/', 'has a user name or a password in it'],
    ['http://example.com/', 'is http to a host other than this one'],
    ['http://localhost.example.com/', 'is http to a host other than this one'],
    ['http://93.184.215.14/', 'is http to 93.184.215.14, which is not loopback'],
    ['http://10.0.0.1/', 'goes to 10.0.0.1, a private address'],
    ['https://10.0.0.1/', 'goes to 10.0.0.1, a private address'],
    ['https://167772161/', 'goes to 10.0.0.1, a private address'],
    ['https://012.0.0.1/', 'goes to 10.0.0.1, a private address'],
    ['https://10.0.0.1./', 'goes to 10.0.0.1, a private address'],
    ['https://172.31.255.255/', 'goes to 172.31.255.255, a private address'],
    ['https://192.168.1.1/', 'goes to 192.168.1.1, a private address'],
    ['https://169.254.169.254/latest/meta-data', 'goes to 169.254.169.254, a link-local address'],
    ['https://0.0.0.0/', 'goes to 0.0.0.0, a reserved address'],
    ['https://[fd00::1]/', 'goes to fd00::1, a unique local address'],
    ['https://[fe80::1]/', 'goes to fe80::1, a link-local address'],
    ['https://[::]/', 'goes to ::, a reserved address'],
    ['https://[::ffff:10.0.0.1]/', 'goes to ::ffff:a00:1, a private address'],
    ['https://[64:ff9b::10.0.0.1]/', 'goes to 64:ff9b::a00:1, a private address'],
    ['https://[2002:a00:1::]/', 'goes to 2002:a00:1::, a private address'],
  ])('%s %s', (text, problem) => {
    expect(parseCallbackUrl(text)).toBe(problem)
  })
})

test.each([
  ['8.8.8.8', 'public'],
  ['172.15.0.1', 'public'],
  ['172.32.0.1', 'public'],
  ['100.63.255.255', 'public'],
  ['100.64.0.1', 'private'],
  ['100.127.255.255', 'private'],
  ['100.128.0.0', 'public'],
  ['198.19.255.255', 'reserved'],
  ['198.20.0.0', 'public'],
  ['224.0.0.1', 'reserved'],
  ['255.255.255.255', 'reserved'],
  ['::1', 'loopback'],
  ['0:0:0:0:0:0:0:1', 'loopback'],
  ['::2', 'reserved'],
  ['::ffff:192.168.0.1', 'private'],
  ['fe80::1%eth0', 'link-local'],
  ['febf::1', 'link-local'],
  ['fdff::1', 'unique local'],
  ['2001:db8::1', 'reserved'],
  ['2001:4860:4860::8888', 'public'],
  ['ff02::1', 'reserved'],
  ['1:2:3', 'reserved'],
  ['1::2::3', 'reserved'],
  ['example.com', 'reserved'],
])('%s is %s', (address, kind) => {
  expect(classifyAddress(address)).toBe(kind)
})

test('a name is judged by each address that it resolves to', () => {
  const https = target('https://hooks.example.com/')
  expect(findAddressProblem(https, '93.184.215.14')).toBeNull()
  expect(findAddressProblem(https, '192.168.0.9')).toBe('goes to 192.168.0.9 (hooks.example.com), a private address')
  const http = target('http://app.localhost/')
  expect(findAddressProblem(http, '::1')).toBeNull()
  expect(findAddressProblem(http, '93.184.215.14')).toBe(
    'is http to 93.184.215.14 (app.localhost), which is not loopback',
  )
})
