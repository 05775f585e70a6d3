import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { NativeTemplateId, SlotHint } from '#contract/fields.ts'
import icons from '#fixtures/demo/icons.json' with { type: 'json' }
import { type DemoProduct, options, readChoices, surfaces, writeChoices } from './surfaces.ts'

test('an address without choices is the default, and the default needs no address', () => {
  const choices = readChoices('')
  expect(choices).toEqual({
    surface: 'chat',
    format: 'native',
    template: 'fitting',
    outcome: 'fill',
    consent: 'granted',
    integration: 'server',
    tool: 'absent',
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

const iconName = z.enum(Object.keys(icons) as [keyof typeof icons])
const text = z.string().min(1)
const answer = z.strictObject({
  diff: z.strictObject({ file: text, lines: z.array(z.string().regex(/^([ +-]|$)/)).min(1) }).exactOptional(),
  pictures: text.exactOptional(),
  text: z.array(text).min(1).exactOptional(),
  steps: z
    .array(z.strictObject({ icon: iconName, tool: text, input: text, output: text, takes_ms: z.int().positive() }))
    .exactOptional(),
  report: z
    .strictObject({ title: text, summary: text, table: z.array(z.array(text).min(2)).min(2), conclusion: text })
    .exactOptional(),
})
const state = z.strictObject({ icon: z.union([iconName, z.literal('dots')]).exactOptional(), text })
const surface: z.ZodType<DemoProduct> = z.strictObject({
  product: text,
  tagline: text,
  placeholder: text,
  ask: text,
  hue: z.int().min(0).max(359),
  depth: z.int().exactOptional(),
  canvas: z.enum(['editor', 'gallery', 'wave']).nullable(),
  scrolls: z.strictObject({ part: z.enum(['body', 'thread', 'canvas']), label: text }),
  keepsHistory: z.boolean(),
  slot: z.strictObject({
    position: SlotHint.shape.position.unwrap(),
    max_height: z.int().positive(),
    banner_max_height: z.int().positive().exactOptional(),
    share: z.number().positive().max(1),
  }),
  template: z.strictObject({ narrow: NativeTemplateId, wide: NativeTemplateId }),
  pace: z.strictObject({
    question_ms: z.int().positive().exactOptional(),
    thinking_ms: z.int(),
    word_ms: z.int().positive(),
  }),
  states: z.partialRecord(z.enum(['idle', 'listening', 'thinking', 'answering']), state),
  files: z.array(text).exactOptional(),
  prompts: z.array(z.strictObject({ label: text, topic: text, text, answer })).length(3),
  fallback: answer,
})

test.each(Object.entries(surfaces))('%s has three prompts with a topic, and an answer to everything', (_, data) => {
  expect(surface.parse(data)).toEqual(data)
  const isGallery = data.canvas === 'gallery'
  for (const { answer } of [...data.prompts, { answer: data.fallback }]) {
    expect(Object.keys(answer ?? {}).length > 0 || (isGallery && answer === data.fallback)).toBe(true)
    const { diff, pictures } = answer ?? {}
    if (diff !== undefined) expect(data.files).toContain(diff.file)
    for (const number of pictures === undefined ? [] : [1, 2, 3, 4]) {
      expect(existsSync(new URL(`../../../fixtures/demo/${pictures}-${number}.webp`, import.meta.url))).toBe(true)
    }
  }
})
