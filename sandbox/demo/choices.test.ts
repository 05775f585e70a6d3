import { expect, test } from 'vitest'
import { readChoices, values, writeChoices } from './choices.ts'

test('an address without choices is the default, and says nothing', () => {
  const choices = readChoices('')
  expect(choices).toEqual({
    surface: 'chat',
    format: 'native',
    template: 'fitting',
    outcome: 'fill',
    consent: 'granted',
    integration: 'server',
    keep: 'on',
    theme: 'system',
  })
  expect(writeChoices(choices)).toBe('')
})

test('every value of every choice survives the address', () => {
  for (const [name, known] of Object.entries(values)) {
    for (const value of known) {
      const choices = { ...readChoices(''), [name]: value }
      expect(readChoices(writeChoices(choices))).toEqual(choices)
    }
  }
})

test('what is unknown is the default', () => {
  expect(readChoices('?surface=fax&format=&consent=granted&more=1')).toEqual(readChoices(''))
  expect(readChoices('?surface=code&surface=image').surface).toBe('code')
})
