import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import safety from '#fixtures/content-safety.json' with { type: 'json' }
import catalogue from '#fixtures/topics.json' with { type: 'json' }
import { deriveTopic, isHighRisk, normalizeTopic, prepareTopics } from './topics.ts'

const index = prepareTopics(catalogue)
const small = prepareTopics({
  topics: {
    coffee: ['coffee', 'espresso', 'coffee beans'],
    tea: ['tea', 'お茶'],
    arabic: ['كتاب'],
    careers: ['resume', 'cover letter'],
    node: ['node.js'],
  },
})

describe('deriveTopic', () => {
  test.each([
    ['Where do I get good ESPRESSO?', 'coffee'],
    ['Tea or coffee? I think coffee.', 'coffee'],
    ['my cover\n  letter', 'careers'],
    ['my résumé', 'careers'],
    ['お茶を飲みたい', 'tea'],
    ['قرأت كِتَاب جميل', 'arabic'],
    ['How do I read a file in Node.js?', 'node'],
  ])('%j is about %s', (text, topic) => {
    expect(deriveTopic(small, text)).toBe(topic)
  })

  test('only whole words count', () => {
    expect(deriveTopic(small, 'a steady team of coffeehouses')).toBeNull()
    expect(deriveTopic(small, 'a cover for my letter')).toBeNull()
    expect(deriveTopic(small, '')).toBeNull()
  })

  test('a keyword inside a longer one is not counted', () => {
    expect(deriveTopic(small, 'tea, coffee beans')).toBe('tea')
  })

  test('the start of a longer keyword hides none that follows it', () => {
    const brews = prepareTopics({ topics: { coffee: ['cold brew coffee'], beer: ['brew', 'cold'] } })
    expect(deriveTopic(brews, 'a cold brew')).toBe('beer')
    expect(deriveTopic(brews, 'a cold brew coffee')).toBe('coffee')
  })

  test('a keyword that is listed twice counts once', () => {
    const twice = prepareTopics({ topics: { tea: ['tea', 'Tea'], coffee: ['coffee', 'milk'] } })
    expect(deriveTopic(twice, 'tea, coffee, milk')).toBe('coffee')
  })

  test('a keyword without a word is found in no text', () => {
    const marks = prepareTopics({ topics: { marks: ['!'] } })
    expect(deriveTopic(marks, '!')).toBeNull()
    expect(deriveTopic(marks, 'any')).toBeNull()
  })

  test('of equals the one mentioned first wins', () => {
    expect(deriveTopic(small, 'tea and coffee')).toBe('tea')
    expect(deriveTopic(small, 'coffee and tea')).toBe('coffee')
  })

  test('every keyword of the fixtures is found for a topic that lists it', () => {
    for (const keywords of Object.values(catalogue.topics)) {
      for (const keyword of keywords) {
        const topic = deriveTopic(index, `so, ${keyword}!`) as keyof typeof catalogue.topics
        expect(catalogue.topics[topic], keyword).toContain(keyword)
      }
    }
  })

  test('any text gives one of the topics or null, always the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        const topic = deriveTopic(index, text)
        expect(topic === null || Object.hasOwn(catalogue.topics, topic)).toBe(true)
        expect(deriveTopic(index, text)).toBe(topic)
      }),
    )
  })

  test('names of object properties are not topics', () => {
    expect(deriveTopic(index, 'constructor __proto__ toString')).toBeNull()
  })
})

describe('isHighRisk', () => {
  test.each(['suicide', 'Self-Harm', 'self harm', ' self_harm ', 'teen suicide prevention', 'grief-support'])(
    '%j is high-risk',
    (topic) => {
      expect(isHighRisk(safety.blocked_topics, topic)).toBe(true)
    },
  )

  test.each(['coffee', 'griefing', 'hats', 'chatting', ''])('%j is not', (topic) => {
    expect(isHighRisk(safety.blocked_topics, topic)).toBe(false)
  })

  test('an empty list blocks nothing', () => {
    expect(isHighRisk([], 'suicide')).toBe(false)
  })
})

test('every topic has one spelling', () => {
  expect(normalizeTopic('  Machine  Learning ')).toBe('machine-learning')
  expect(normalizeTopic('machine_learning')).toBe('machine-learning')
})
