/** The variants of a sheet, and the sample words in some. */
import { expect, test } from 'vitest'
import type { Creative } from '../catalogue.ts'
import { sampleWords } from './sample-words.ts'
import { listVariants } from './variants.ts'

const banner: Creative = {
  creative_id: 'crv_b',
  format: 'banner',
  width: 728,
  height: 90,
  file: 'a/b.png',
  mime_type: 'image/png',
}
const native: Creative = {
  ...{ creative_id: 'crv_n', format: 'native', width: 600, height: 314 },
  ...{ title: 'Tea', cta_text: 'Try', image_file: 'a/n.png', icon_file: 'a/i.png' },
}
const list = (...creatives: Creative[]) => listVariants({ campaign_id: 'cmp_tea', creatives })

test('a banner has every width in which it looks different, in every theme', () => {
  const looks = list(native, banner).filter(({ format }) => format === 'banner')
  expect(looks.map(({ width, height, theme }) => `${width}x${height} ${theme}`)).toEqual(
    ['320x40', '390x48', '728x90'].flatMap((size) =>
      ['light', 'dark', 'high_contrast'].map((theme) => `${size} ${theme}`),
    ),
  )
  const [small] = list({ ...banner, width: 320, height: 50 })
  expect(small).toMatchObject({ width: 320, height: 50, page_widths: [320, 390, 768] })
})

test('a native creative has every template, and each other circumstance alone', () => {
  const looks = list(native)
  expect(new Set(looks.map(({ variant_id }) => variant_id)).size).toBe(looks.length)
  expect(new Set(looks.map(({ template_id }) => template_id))).toEqual(
    new Set(['card', 'list_item', 'featured', 'minimal']),
  )
  const minimal = looks.filter(({ template_id, width }) => template_id === 'minimal' && width === 320)
  expect(minimal.map(({ variant_id }) => variant_id.replace('crv_n-minimal-320-', ''))).toEqual([
    ...['light', 'dark', 'high_contrast', 'long_words', 'german', 'japanese', 'arabic', 'text_200', 'still'],
  ])
  const labels = looks.filter(({ about }) => about.startsWith('label'))
  expect(labels.map(({ label_text }) => label_text)).toEqual(expect.arrayContaining(['Anzeige', '広告', 'إعلان']))
})

test('sample words are as long as a translation, and one word at least', () => {
  const text = 'Coffee roasted on Monday, brewed on Wednesday'
  const lengths = (['german', 'japanese', 'arabic', 'long_words'] as const).map(
    (words) => [...sampleWords(text, words, 'sentence')].length / text.length,
  )
  for (const [at, most] of [1.3, 0.61, 1, 1].entries()) {
    expect(lengths[at]).toBeLessThanOrEqual(most)
    expect(lengths[at]).toBeGreaterThan(most / 2)
  }
  expect(sampleWords('Buy', 'german', 'call')).toBe('Jetzt')
  expect([...sampleWords('x'.repeat(2_000), 'arabic', 'sentence')].length).toBeGreaterThan(1_980)
})
