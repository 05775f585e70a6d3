import { expect, test } from 'vitest'
import { z } from 'zod'
import { assumedFields, assumedObject, documented, readSource, strictObject } from './objects.ts'

test('the fields of an object are built by its first use, once for all of its copies', () => {
  let built = 0
  const Item = strictObject(() => {
    built++
    return { kind: z.literal('item') }
  })
  const described = Item.describe('An item.')
  const refined = Item.refine(() => true)
  z.discriminatedUnion('kind', [Item, strictObject(() => ({ kind: z.literal('other') }))])
  strictObject(() => ({ inner: Item.optional() }))
  expect(built).toBe(0)
  expect(refined.parse({ kind: 'item' })).toEqual({ kind: 'item' })
  expect(() => described.parse({ kind: 'item', other: 1 })).toThrow('Unrecognized key')
  expect(refined.shape.kind).toBe(Item.shape.kind)
  expect(built).toBe(1)
})

test('the first parse builds the objects inside, even in fields that the value does not have', () => {
  const built: string[] = []
  const named = (name: string) =>
    strictObject(() => {
      built.push(name)
      return {}
    })
  const Outer = strictObject(() => ({
    optional: named('optional').nullable().optional(),
    items: z.array(z.union([named('option'), z.string()])).optional(),
    values: z.record(z.string(), named('value')).optional(),
    prepared: z.preprocess((value) => value, named('prepared')).optional(),
    deep: strictObject(() => ({ deepest: named('deepest') })).optional(),
  }))
  Outer.parse({})
  expect(built.toSorted()).toEqual(['deepest', 'option', 'optional', 'prepared', 'value'])
})

test('fields that several objects share are the same in each, and keep their own source', () => {
  const shared = assumedFields('A01', () => ({
    own: documented(z.string(), 'Own.'),
    taken: z.string().describe('Taken.'),
  }))
  const [one, other] = [assumedObject('A02', shared), assumedObject('A03', () => ({ ...shared(), more: z.string() }))]
  expect(other.shape.taken).toBe(one.shape.taken)
  expect(readSource(other.shape.taken)).toMatchObject({ provenance: 'assumed', decision: 'A01' })
  expect(readSource(one.shape.own)).toMatchObject({ provenance: 'documented' })
  expect(readSource(other.shape.more)).toBeNull()
})
