import { expect, test } from 'vitest'
import { describeJsonProblem, findRepeatedName } from './syntax.ts'

test.each([
  ['{"a":1,}', 'Line 1, column 8: There is a comma before }: remove it.'],
  ['{"a":1\n "b":2}', 'Line 2, column 2: A comma is missing here.'],
  ['{"a":1,\n "b": tru }', 'Line 2, column 7: This is not a JSON value. Text must be in double quotes.'],
  ['[True]', 'Line 1, column 2: True is not a JSON value.'],
  ['[\n1', 'Line 2, column 2: The text ends too early: a value, a comma or a bracket is missing.'],
  ['', 'Line 1, column 1: The text ends too early: a value, a comma or a bracket is missing.'],
])('%j has a problem with its line and column', (text, problem) => {
  expect(describeJsonProblem(text)).toBe(problem)
})

/** A valid text and every text that is one character away from it. */
function* broken(): Generator<string> {
  const text = '{"a": [1, -2.5e3, true, null],\n "b": {"c": "x\\u0041\\n"}, "d": ""}'
  for (let at = 0; at <= text.length; at++) {
    if (at < text.length) yield text.slice(0, at) + text.slice(at + 1)
    for (const extra of '{}[],:"\'\\0-.ex/\t\u00a0\ufeff\u0001') yield text.slice(0, at) + extra + text.slice(at)
  }
}

test('whatever JSON.parse refuses has a line and a column', () => {
  const isJson = (text: string) => {
    try {
      JSON.parse(text)
      return true
    } catch {
      return false
    }
  }
  const refused = [...broken()].filter((text) => !isJson(text))
  expect(refused.length).toBeGreaterThan(500)
  for (const text of refused) expect(describeJsonProblem(text), text).toMatch(/^Line [12], column \d+: [A-Z].*\.$/)
})

test.each([
  ['{"a":["a","a",{"a":1}],"b":{"a":"a"},"":2}', null],
  ['[{"a":1},{"a":1}]', null],
  ['"a"', null],
  [`{"a":${'['.repeat(100_000)}1${']'.repeat(100_000)},"b":0}`, null],
  ['{"a":1,"b":2,"a":1}', 'a'],
  ['[{"a":{"b":1, "b" :1}}]', 'b'],
  ['{"a":[{}],"\\u0061":2}', 'a'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
])('%.40s: the name that an object has twice is %j', (text, name) => {
  expect(findRepeatedName(text)).toBe(name)
})

test('no key or password in the text is quoted', () => {
  for (const text of ['{"key": sk_test_secret}', "{'sk_test_secret': 1}", '{"a": "sk_test_secret', 'sk_test_secret'])
    expect(describeJsonProblem(text)).not.toContain('sk_')
})
