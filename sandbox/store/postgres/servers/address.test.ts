import { expect, test } from 'vitest'
import { parseStoreUrl } from './address.ts'

test('a URL names one server or several, each with its port and what follows them', () => {
  const { location, servers, wantsListen } = parseStoreUrl(
    'postgres://svc:a,b%40c@db1:5432,db2,[::1]:5433/svc?sslmode=require&target_session_attrs=read-write&svc_listen=off',
  )
  expect(location).toBe('postgres://svc@db1:5432,db2,[::1]:5433/svc')
  expect(servers.map(({ href }) => href)).toEqual(
    ['db1:5432', 'db2', '[::1]:5433'].map((host) => `postgres://svc:a,b%40c@${host}/svc?sslmode=require`),
  )
  expect(wantsListen).toBe(false)
  expect(parseStoreUrl('postgresql:///svc?host=/run/postgresql')).toMatchObject({
    location: 'postgresql:///svc',
    wantsListen: true,
  })
  expect(parseStoreUrl('postgres://db/svc').location).toBe('postgres://db/svc')
})

test('a URL that names no server, or another one than it seems to, is refused without its password', () => {
  const urls = ['db/svc', 'mysql://db/svc', 'postgres://db1,/svc', 'postgres://,db1/svc', 'postgres://db1:x,db2/svc']
  const cut = ['postgres://svc:se/cret@db/svc', 'postgres://svc:se#cret@db/svc', 'postgres://svc:se?cret@db1,db2/svc']
  for (const url of [...urls, ...cut]) {
    expect(() => parseStoreUrl(url), url).toThrow('The store is not the URL of a PostgreSQL database.')
  }
  for (const attributes of ['standby', 'read-only', 'prefer-standby']) {
    const url = `postgres://db1,db2/svc?target_session_attrs=${attributes}`
    expect(() => parseStoreUrl(url)).toThrow(`A sandbox cannot use target_session_attrs=${attributes}: it writes.`)
  }
})
