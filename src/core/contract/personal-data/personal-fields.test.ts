import { expect, test } from 'vitest'
import { z } from 'zod'
import { parseExactly } from '#foundation/json/exact-numbers.ts'
import { listPersonalKinds } from '#foundation/personal-data/personal-kinds.ts'
import type { Endpoint } from '../endpoint.ts'
import { compat, contract } from '../index.ts'
import { findPersonalFields } from './personal-fields.ts'

const email = 'ann@example.org'
const places = (body: unknown) => findPersonalFields(body).map(({ path, kinds }) => [path, kinds.join()])

test('every field that is up to the client is searched, wherever a form of a request has it', () => {
  const endpoints: Endpoint[] = [...Object.values(contract), ...Object.values(compat)]
  const bodies = endpoints.flatMap(({ body, credentials }) =>
    body === undefined || credentials.length === 0
      ? []
      : [z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' })],
  )
  const open = new Set(bodies.flatMap((schema) => openPaths(schema)))
  // Free fields of a body: what the contract leaves open, and what it names a topic or a session.
  expect(open).toContain('metadata')
  expect(open).toContain('context.geo')
  const unsearched = [...open].filter((path) => places(withEmail(path)).length === 0)
  // Categories and domains are codes, and what else is in it is kept nowhere but in the journal.
  expect(unsearched).toEqual(['brand_safety'])
})

/** Returns the paths of open objects, topics and sessions in a schema. */
function openPaths(schema: unknown, path: readonly string[] = []): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {}, anyOf = [], oneOf = [], allOf = [], additionalProperties } = schema as Schema
  const isOpen = path.length > 0 && typeof additionalProperties === 'object' && path.at(-1) !== 'purposes'
  const isText = /^(?:topic|session_id|chat_session_id)$/.test(path.at(-1) ?? '')
  return [
    ...(isOpen || isText ? [path.join('.')] : []),
    ...Object.entries(properties).flatMap(([name, inner]) => openPaths(inner, [...path, name])),
    ...[...anyOf, ...oneOf, ...allOf].flatMap((inner) => openPaths(inner, path)),
  ]
}

interface Schema {
  properties?: Record<string, unknown>
  anyOf?: unknown[]
  oneOf?: unknown[]
  allOf?: unknown[]
  additionalProperties?: unknown
}

function withEmail(path: string): unknown {
  const value: unknown = /topic|session_id/.test(path) ? email : { note: email }
  return path.split('.').reduceRight((inner, name) => ({ [name]: inner }), value)
}

test('a field is named by its path, and a name that is personal data itself is not repeated', () => {
  const metadata = { user: { contacts: ['none', email] }, [email]: { [`${email}!`]: 1 }, turn_id: 'm1' }
  expect(places({ metadata })).toEqual([
    ['metadata.user.contacts.1', 'email_address'],
    ['metadata.[name]', 'email_address'],
    ['metadata.[name].[name]', 'email_address'],
  ])
  expect(JSON.stringify(findPersonalFields({ metadata }))).not.toContain('ann')
})

test('the name of a field says what a value without other signs is', () => {
  expect(places({ metadata: { phone: '5551234567', turn: '5551234567', call_id: 5551234567 } })).toEqual([
    ['metadata.phone', 'phone_number'],
  ])
  expect(places({ metadata: { shipping_address: '12 Baker Street', scene: '12 Baker Street' } })).toEqual([
    ['metadata.shipping_address', 'postal_address'],
  ])
  expect(places({ metadata: { apiKey: '9f8b7c6d5e4f3a2b1c0d', hash: '9f8b7c6d5e4f3a2b1c0d' } })).toEqual([
    ['metadata.apiKey', 'access_key'],
  ])
})

test('a number can be a card, exact or not', () => {
  const body = parseExactly('{"metadata": {"a": 4539899301114044, "b": 4539899301114045, "c": 1732640000000}}')
  expect(places(body)).toEqual([['metadata.a', 'card_number']])
})

test('what a device says of itself is no telephone number', () => {
  const ua =
    'Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.6367.82 Safari/537.36'
  const device = { ua, ip: '203.0.113.195', ifa: '38400000-8cf0-11bd-b23e-10b96e40000d', os_version: '17.4.1', w: 1170 }
  const geo = { country: 'DE', city: 'Köln', postcode: '50667', lat: 50.941278, lon: 6.958281 }
  expect(places({ context: { device, geo } })).toEqual([])
})

test('a session id that is only a number in groups is one to call', () => {
  for (const session_id of ['(555) 123-4567', '5551 123 4567', '+49 170 1234567']) {
    expect([session_id, places({ session_id })]).toEqual([session_id, [['session_id', 'phone_number']]])
  }
  expect(places({ prompt: { topic: '5551 123 4567' } })).toEqual([])
  for (const session_id of ['1732640000000', 'google-oauth2|103547991597142817347', 'sess_2026-11-27-0042']) {
    expect([session_id, places({ session_id })]).toEqual([session_id, []])
  }
})

test('kinds are listed in words', () => {
  expect(listPersonalKinds(['email_address'])).toBe('an e-mail address')
  expect(listPersonalKinds(['email_address', 'iban', 'access_key'])).toBe('an e-mail address, an IBAN and a key')
})
