import { expect, test } from 'vitest'
import { explain, isTlsRefusal } from './failures.ts'

const failure = (code: string, message: string) => Object.assign(new Error(message), { code })

test.each([
  ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:5432', /cannot be reached: .*\. \| Check that PostgreSQL runs/],
  ['57P03', 'the database system is starting up', /cannot be reached: .*\. \| Check that PostgreSQL runs/],
  ['53300', 'sorry, too many clients already', /has no connection left for the sandbox: .* \| Close other connections/],
  ['53400', 'configuration limit exceeded', /has no connection left for the sandbox: .* \| Close other connections/],
  ['28P01', 'password authentication failed for user "svc"', /refused the sandbox: .* \| Check user and password/],
])('a start that fails with %s says what to do: %s', (code, message, text) => {
  const error = explain(failure(code, message), 'db:5432/svc') as Error & { hint: string }
  expect(`${error.message} | ${error.hint}`).toMatch(text)
})

test.each([
  ['', 'The server does not support SSL connections', true],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'SSL routines::wrong version number', true],
  ['28000', 'no pg_hba.conf entry for host "10.0.0.1", SSL encryption', true],
  ['28P01', 'password authentication failed for user "svc"', false],
  ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:5432', false],
  ['53300', 'sorry, too many clients already', false],
])('after %s, %s, sslmode=prefer tries without TLS: %s', (code, message, isRefusal) => {
  expect(isTlsRefusal(failure(code, message))).toBe(isRefusal)
})
