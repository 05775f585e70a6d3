import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createConsoleGrants } from './console-grants.ts'

const origin = 'http://localhost:3000'
const elsewhere = 'http://localhost:4000'
const minute_ms = 60_000
const here = '127.0.0.1'

function stagedGrants() {
  let [now, ids, tokens] = [0, 0, 0]
  const grants = createConsoleGrants({
    platform: {
      newId: () => ++ids,
      sha256: (text) => createHash('sha256').update(text).digest(),
      equals: (one, other) => Buffer.compare(one, other) === 0,
    },
    now: () => now,
    newToken: () => `token-${++tokens}`,
  })
  /** A grant that was confirmed and claimed. */
  const grant = (from = origin) => {
    const { grant_id, secret } = grants.ask(from, here)!
    grants.confirm(grant_id)
    return { grant_id, secret, token: grants.claim(from, grant_id, secret).token! }
  }
  return { grants, grant, pass: (ms: number) => (now += ms) }
}

test('a token comes once, after a confirmation, and to the secret and origin of the ask alone', () => {
  const { grants } = stagedGrants()
  const { grant_id, secret } = grants.ask(origin, here)!
  expect(grants.claim(origin, grant_id, secret)).toEqual({ status: 'waiting' })
  grants.confirm(grant_id)
  expect(grants.claim(origin, grant_id, 'guess')).toEqual({ status: 'expired' })
  expect(grants.claim(elsewhere, grant_id, secret)).toEqual({ status: 'expired' })
  expect(grants.claim(origin, 'grant_00000000000', secret)).toEqual({ status: 'expired' })
  const { token } = grants.claim(origin, grant_id, secret)
  expect(grants.find(token!)).toMatchObject({ grant_id, origin, status: 'confirmed', is_claimed: true })
  expect(grants.claim(origin, grant_id, secret)).toEqual({ status: 'confirmed' })
  for (const other of [secret, grant_id, '', 'guess']) expect(grants.find(other)).toBeNull()
})

test('an ask ends after 10 minutes, a grant 60 minutes after it was confirmed', () => {
  const { grants, grant, pass } = stagedGrants()
  const { grant_id, secret } = grants.ask(origin, here)!
  pass(10 * minute_ms)
  expect(grants.claim(origin, grant_id, secret)).toEqual({ status: 'expired' })
  expect(grants.confirm(grant_id)).toBeNull()
  const { token } = grant()
  pass(60 * minute_ms - 1)
  expect(grants.find(token)).not.toBeNull()
  // Confirming it again does not renew it.
  expect(grants.confirm(grants.list()[0]!.grant_id)).not.toBeNull()
  pass(1)
  expect(grants.find(token)).toBeNull()
  expect(grants.list()).toEqual([])
})

test('at most 5 asks of an origin and 20 in all wait for an answer', () => {
  const { grants, pass } = stagedGrants()
  const asked = Array.from({ length: 6 }, () => grants.ask(origin, here))
  expect(asked.map((ask) => ask !== null)).toEqual([true, true, true, true, true, false])
  for (let port = 1; port <= 15; port++) expect(grants.ask(`http://localhost:${port}`, here)).not.toBeNull()
  expect(grants.ask('http://localhost:16', here)).toBeNull()
  grants.revoke(asked[0]!.grant_id)
  expect(grants.ask(origin, here)).not.toBeNull()
  expect(grants.ask(origin, here)).toBeNull()
  pass(10 * minute_ms)
  expect(grants.ask(origin, here)).not.toBeNull()
})

test('clients on other computers use up only their own asks, and together never those of this one', () => {
  const { grants } = stagedGrants()
  const asks = (client: string) =>
    Array.from({ length: 6 }, () => grants.ask(origin, client)).filter((ask) => ask !== null)
  for (let host = 1; host <= 20; host++) expect(asks(`192.168.1.${host}`)).toHaveLength(5)
  expect(asks('192.168.1.21')).toEqual([])
  for (const client of [here, '::1']) expect(asks(client)).toHaveLength(5)
  grants.revoke(grants.list().at(-1)!.grant_id)
  expect(asks('192.168.1.21')).toHaveLength(1)
})

test('a grant that is refused, revoked or cleared is good for nothing', () => {
  const { grants, grant } = stagedGrants()
  const { grant_id, secret } = grants.ask(origin, here)!
  expect(grants.revoke(grant_id)).toMatchObject({ status: 'refused' })
  expect(grants.confirm(grant_id)).toBeNull()
  expect(grants.claim(origin, grant_id, secret)).toEqual({ status: 'refused' })
  const revoked = grant()
  grants.revoke(revoked.grant_id)
  expect(grants.find(revoked.token)).toBeNull()
  const cleared = grant()
  grants.clear()
  expect(grants.find(cleared.token)).toBeNull()
  expect(grants.revoke(cleared.grant_id)).toBeNull()
})

test('the code is four digits, and neither the list nor anything else shows a secret or a token', () => {
  const { grants, grant } = stagedGrants()
  const { secret, token } = grant()
  const { code } = grants.ask(origin, here)!
  expect(code).toMatch(/^\d{4}$/)
  expect(JSON.stringify(grants.list())).not.toContain(secret)
  expect(JSON.stringify(grants.list())).not.toContain(token)
})
