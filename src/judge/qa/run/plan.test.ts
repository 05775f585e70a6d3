import { expect, test } from 'vitest'
import { loadSuite } from '../suite/load.ts'
import { expand, type Selection, select } from './plan.ts'

const suite = loadSuite(
  `suite: shop
title: A shop
tags: [shop]
matrix:
  format: [banner, clip, native]
  outcome:
    - { name: none, reason: no_demand }
    - { name: late, reason: timeout }
cases:
  - name: a {{format}} fills
    tags: [fill]
    matrix: [format]
    except: [{ format: native }]
    steps: [{ placement: { format: "{{format}}" } }]
  - name: no fill for {{outcome.reason}}
    matrix: [outcome, format]
    except: [{ outcome: { name: late, reason: timeout }, format: clip }]
    steps: [{ placement: { no_fill: true } }]
  - name: time goes by
    tags: [slow]
    steps: [{ clock: { advance: 1m } }, { call: beacons.list }]
  - name: of its own
    project: { label_text: Ad }
    steps: [{ call: projects.update, params: { client_id: "{{client_id}}" } }]
`,
  'shop.yaml',
  '/',
)
const all = expand([suite])
const ids = (selection: Selection) => select(all, selection).map(({ id }) => id)

test('a case for each combination, but the excepted ones, by the values of its matrix', () => {
  expect(all.map(({ id }) => id)).toEqual([
    'shop/a banner fills',
    'shop/a clip fills',
    'shop/no fill for no_demand [banner]',
    'shop/no fill for no_demand [clip]',
    'shop/no fill for no_demand [native]',
    'shop/no fill for timeout [banner]',
    'shop/no fill for timeout [native]',
    'shop/time goes by',
    'shop/of its own',
  ])
})

test('an object without a name is in words', () => {
  const sizes = loadSuite(
    `suite: sizes
title: What fits
cases:
  - name: it fits
    matrix: { size: [{ max_width: 300, formats: [banner, clip] }, { max_width: 1, formats: [] }] }
    steps: [{ placement: { max_width: "{{size.max_width}}" } }]
`,
    'sizes.yaml',
    '/',
  )
  expect(expand([sizes]).map(({ id }) => id)).toEqual([
    'sizes/it fits [max_width 300, formats banner+clip]',
    'sizes/it fits [max_width 1, formats none]',
  ])
})

test('what a case needs and moves follows from its steps', () => {
  const of = (id: string) => all.find((each) => each.id === id)!
  const needs = (id: string) => [...new Set(of(id).needs.map(({ need }) => need))]
  expect(needs('shop/a clip fills')).toEqual([])
  expect(needs('shop/no fill for timeout [banner]')).toEqual(['test_key'])
  expect(needs('shop/time goes by')).toEqual(['control'])
  expect([...of('shop/time goes by').changes]).toEqual(['clock'])
  expect(of('shop/time goes by').exclusive).toBe(true)
  expect(of('shop/of its own').exclusive).toBe(false)
})

test('what a case needs may depend on its matrix', () => {
  const keyed = loadSuite(
    `suite: keyed
title: Keys and paths
cases:
  - name: a {{key}} key
    matrix: { key: [secret, live] }
    steps: [{ placement: {}, key: "{{key}}" }]
  - name: a look at {{at.name}}
    matrix: { at: [{ name: v1, path: /v1/render.js }, { name: control, path: /_sandbox/info }] }
    steps: [{ request: { path: "{{at.path}}" } }]
`,
    'keyed.yaml',
    '/',
  )
  expect(expand([keyed]).map(({ needs }) => needs.map(({ need }) => need))).toEqual([[], ['live_key'], [], ['control']])
})

test('cases by pattern and tag', () => {
  expect(ids({ grep: 'CLIP' })).toEqual(['shop/a clip fills', 'shop/no fill for no_demand [clip]'])
  expect(ids({ tags: ['slow', 'fill'] })).toEqual(['shop/a banner fills', 'shop/a clip fills', 'shop/time goes by'])
  expect(ids({ tags: ['shop'], not_tags: ['slow', 'fill'] })).toHaveLength(6)
})

test('a pattern that takes too long on the names of cases is ended', () => {
  const named = all.map((each) => ({ ...each, id: 'a'.repeat(60) }))
  expect(() => select(named, { grep: '^(a+)+$|^(a+)+b$|b' })).not.toThrow()
  expect(() => select(named, { grep: '^(a+)+b$' })).toThrow('took longer than 500 ms on a text of 60 characters')
})

test('shards are parts of the whole, and repetitions stay together', () => {
  const parts = [1, 2, 3, 4].map((index) => ids({ shard: { index, of: 4 } }))
  expect(parts.flat().toSorted()).toEqual(ids({}).toSorted())
  expect(parts.map((part) => part.length)).toEqual([3, 2, 2, 2])
  expect(select(all, { grep: 'time goes', repeat: 3 }).map(({ attempt }) => attempt)).toEqual([1, 2, 3])
})
