import { expect, test } from 'vitest'
import { options, readChoices, writeChoices } from './choices.ts'

test('an address without choices is the default, and the default needs no address', () => {
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
  for (const [name, known] of Object.entries(options)) {
    for (const value of Object.keys(known)) {
      const choices = { ...readChoices(''), [name]: value }
      expect(readChoices(writeChoices(choices))).toEqual(choices)
    }
  }
})

test('an unknown value is the default', () => {
  expect(readChoices('?surface=fax&format=&consent=granted&more=1')).toEqual(readChoices(''))
  expect(readChoices('?surface=code&surface=image').surface).toBe('code')
})
