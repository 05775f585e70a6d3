/** JSON that may be wrong: a tree whose leaves are raw text, so that it can hold what JSON.stringify never writes. */
import type { Dice } from './dice.ts'

export type Loose =
  | { kind: 'leaf'; text: string }
  | { kind: 'array'; items: Loose[] }
  | { kind: 'object'; members: { name: string; value: Loose }[] }

export function toLoose(value: unknown): Loose {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(toLoose) }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, inner]) => ({
      name: JSON.stringify(name),
      value: toLoose(inner),
    }))
    return { kind: 'object', members }
  }
  return { kind: 'leaf', text: JSON.stringify(value) }
}

export function write(loose: Loose): string {
  if (loose.kind === 'leaf') return loose.text
  if (loose.kind === 'array') return `[${loose.items.map(write).join(',')}]`
  return `{${loose.members.map(({ name, value }) => `${name}:${write(value)}`).join(',')}}`
}

/** Drops, duplicates, renames, retypes or adds one field anywhere. */
export function mutate(dice: Dice, root: Loose): Loose {
  const copy = structuredClone(root)
  const places = listPlaces(copy)
  if (places.length === 0) return leaf(dice.pick(oddTexts))
  const { list, index } = dice.pick(places)
  const item = list[index]!
  switch (dice.below(7)) {
    case 0:
      list.splice(index, 1)
      break
    case 1:
      list.splice(index, 0, structuredClone(item))
      break
    case 2:
      if ('name' in item) item.name = dice.pick(oddNames)
      else list.splice(index, 1)
      break
    case 3:
      if ('name' in item) list.splice(index, 0, { name: dice.pick(oddNames), value: leaf(dice.pick(oddTexts)) })
      else list.splice(index, 0, leaf(dice.pick(oddTexts)))
      break
    case 4:
      set(list, index, { kind: 'array', items: [held(item)] })
      break
    default:
      set(list, index, oddValue(dice))
  }
  return copy
}

/** Returns any value of another kind. */
export function oddValue(dice: Dice): Loose {
  const choice = dice.below(20)
  if (choice === 0) return leaf(`"${'a'.repeat(dice.pick([129, 257, 4_097, 8_001, 20_000]))}"`)
  if (choice === 1) return leaf(`${'['.repeat(70)}${']'.repeat(70)}`)
  if (choice === 2) return leaf(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`)
  if (choice === 3)
    return { kind: 'array', items: Array.from({ length: dice.pick([1, 65, 300]) }, () => leaf('"IAB1"')) }
  return leaf(dice.pick(oddTexts))
}

type Item = Loose | { name: string; value: Loose }

function listPlaces(root: Loose): { list: Item[]; index: number }[] {
  const places: { list: Item[]; index: number }[] = []
  const visit = (loose: Loose) => {
    const list: Item[] = loose.kind === 'array' ? loose.items : loose.kind === 'object' ? loose.members : []
    for (const [index, item] of list.entries()) {
      places.push({ list, index })
      visit(held(item))
    }
  }
  visit(root)
  return places
}

function held(item: Item): Loose {
  return 'name' in item ? item.value : item
}

function set(list: Item[], index: number, value: Loose): void {
  const item = list[index]!
  if ('name' in item) item.value = value
  else list[index] = value
}

function leaf(text: string): Loose {
  return { kind: 'leaf', text }
}

const oddNames = [
  '"__proto__"',
  '"constructor"',
  '"prototype"',
  '"toString"',
  '"hasOwnProperty"',
  '""',
  '"client_id"',
  '"prompt"',
  '"consent"',
  '"contract_version"',
  '"job"',
  '"\\u0000"',
  '"\\ud800"',
  '"a.b"',
  '"\\u202e"',
  `"${'k'.repeat(200)}"`,
  'unquoted',
  "'single'",
  '1',
]

const oddTexts = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '-1',
  '1',
  '1.5',
  '4096',
  '4097',
  '1e999',
  '-1e999',
  '1e308',
  '5e-324',
  '1e-999',
  '9007199254740991',
  '9007199254740993',
  '-9007199254740993',
  '18446744073709551616',
  '99999999999999999999999999999999999999999',
  '253402300800000',
  '8640000000000001',
  '01',
  '+1',
  '.5',
  '0x10',
  'NaN',
  'Infinity',
  'undefined',
  '""',
  '" "',
  '"a"',
  '"0"',
  '"true"',
  '"null"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\u001b[31m"',
  '"\\r\\nx-injected: yes"',
  '"\\u202e\\u2066"',
  '"\ud83d\ude00"',
  '"\u00e9\u0301"',
  '"raw\ttab"',
  '"raw\nnewline"',
  '"\\x41"',
  '"unterminated',
  '"__proto__"',
  '"constructor"',
  '"../../etc/passwd"',
  '"\'; DROP TABLE slot; --"',
  '"<script>alert(1)</script>"',
  '"banner"',
  '"proj_demo"',
  '"proj_other"',
  '"proj_none"',
  '"slot_00000000001"',
  '"slot_zzzzzzzzzzz"',
  '"ast_00000000001_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"',
  '"sk_test_sandbox_demo"',
  '"csl_wrapper_ingress_create/v2"',
  '"2026-02-30T25:61:00Z"',
  '"0000-01-01T00:00:00Z"',
  '"1960-01-01T00:00:00Z"',
  '"9999-12-31T23:59:59.999999999+23:59"',
  '"2026-01-01T00:00:00-23:59"',
  '"2026-06-30T23:59:60Z"',
  '{}',
  '[]',
  '[[]]',
  '[null]',
  '{"":null}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"toString":null,"valueOf":1}',
  '{"\\ud800":"\\udc00"}',
  '{"a":1,"a":2}',
  '{"topic":"\\ud83d"}',
  '{"topic":"\\u0000","text":"\\ud800"}',
]
