/** What a session remembers of secrets: word for word up to a limit, and their beginnings beyond it. */
import { expect, test } from 'vitest'
import { createSecretMemory } from './secret-memory.ts'

const nameToken = (index: number) => `${(index * 7_919).toString(36)}.${'qz7'.repeat(6)}${index}`

test('holds no more than so many secrets, and keeps none of the others', () => {
  const memory = createSecretMemory(Buffer.alloc(32))
  const count = 60_000
  for (let index = 0; index < count; index++) memory.collectSecret(nameToken(index), 'tok')
  for (const plain of ['{"title":"A fine thing to read"}', '<p class="x">Sale ends on 2026-12-24</p>']) {
    expect(memory.replace(plain)).toBe(plain)
  }
  expect(memory.replace(`"${nameToken(1)}"`)).toMatch(/^"tok_[0-7][0-9a-z]{10}_redacted"$/)
  for (let index = 0; index < count; index += 97) {
    expect(memory.replace(`{"a":"${nameToken(index)}","b":1}`)).toMatch(/^\{"a":"[^"]*redacted","b":1\}$/)
  }
  expect(memory.replace(`"${nameToken(count - 1)}"`)).toBe('"redacted"')
})

test('texts of many lengths with one beginning are found in a text that has few of them, and none is kept in any other', () => {
  const memory = createSecretMemory(Buffer.alloc(32))
  const prompts = Array.from({ length: 500 }, (_, index) => `Please tell me ${'very '.repeat(index)}much`)
  for (const prompt of prompts) memory.collectFromText(prompt, '[removed]')
  expect(memory.replace('{"title":"Please tell everyone"}')).toBe('{"title":"Please tell everyone"}')
  expect(memory.replace(JSON.stringify({ a: prompts[300], b: 'c' }))).toBe('{"a":"[removed]","b":"c"}')
  const many = memory.replace(JSON.stringify({ a: prompts.join('\n'), b: 'c' }))
  expect(many).not.toContain('tell')
  expect(JSON.parse(many)).toMatchObject({ b: 'c' })
})

test('short credentials are found by the thousand, as words, and what has them within it stays', () => {
  const memory = createSecretMemory(Buffer.alloc(32))
  const nameWord = (index: number) => `p${(index * 7_919 + 46_656).toString(36)}!x${index % 10}`
  for (let index = 0; index < 4_000; index++) memory.collectCredential(nameWord(index))
  memory.collectCredential('sandbox')
  for (const plain of [
    '{"a":"the sandbox","b":"x1q placement"}',
    `{"a":"my${nameWord(3)}y"}`,
    '{"n":12345,"b":"p!x"}',
  ]) {
    expect(memory.replace(plain)).toBe(plain)
  }
  expect(memory.replace('{"a":"sandbox"}')).toMatch(/^\{"a":"tok_[^"]*redacted"\}$/)
  for (let index = 0; index < 4_000; index += 37) {
    const word = nameWord(index)
    const kept = memory.replace(
      `{"a":"seen: ${word} now","b":"${word}","c":"${Buffer.from(word).toString('base64url')}"}`,
    )
    expect(kept.match(/redacted/g)).toHaveLength(3)
    expect(kept).not.toContain(word)
  }
})
