import { expect, test } from 'vitest'
import { parseScript } from './script.ts'
import { surfaces } from './surfaces.ts'

test('a script is prompts with their answers, line by line, and an answer to everything else', () => {
  const script = parseScript(`
# Say hello [greetings]
> How do I say hello?
Like this:
- **Hello**
$ search words.find | hello | 3 words | 400
---
## Found
| Word | Language
~~~ hello.ts
 const word = 1

-# not a prompt
~~~

# Anything else
! ridges
`)
  expect(script.prompts).toEqual([
    {
      label: 'Say hello',
      text: 'How do I say hello?',
      topic: 'greetings',
      answer: [
        { kind: 'text', text: 'Like this:' },
        { kind: 'item', text: '**Hello**' },
        { kind: 'step', text: 'search words.find | hello | 3 words | 400' },
        { kind: 'slot', text: '' },
        { kind: 'title', text: 'Found' },
        { kind: 'row', text: 'Word | Language' },
        { kind: 'diff', text: 'hello.ts\n const word = 1\n\n-# not a prompt' },
      ],
    },
  ])
  expect(script.fallback).toEqual([{ kind: 'pictures', text: 'ridges' }])
})

test.each(Object.entries(surfaces))(
  '%s has three prompts with a topic, and an answer to everything',
  (_, { script }) => {
    expect(script.prompts).toHaveLength(3)
    for (const { topic, answer } of [...script.prompts, { topic: 'any', answer: script.fallback }]) {
      expect(topic).toBeTruthy()
      expect(answer.length).toBeGreaterThan(0)
    }
  },
)
