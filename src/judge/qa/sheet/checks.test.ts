/** The checks of a creative sheet: what is right first, then one mistake for each rule. */
import { expect, test } from 'vitest'
import type { SheetVariant } from '#contract/resources/sandbox/creative-sheet.ts'
import { contrast, judgeVariant } from './checks.ts'
import type { Measured, MeasuredPicture, MeasuredText } from './measure.ts'

const variant: SheetVariant = {
  variant_id: 'crv_tea-card-320-light',
  creative_id: 'crv_tea',
  format: 'native',
  template_id: 'card',
  page_widths: [320],
  width: 320,
  height: 367,
  theme: 'light',
  words: 'own',
  text_percent: 100,
  is_motion_reduced: false,
  label_text: 'Sponsored',
  about: '',
  frame_path: '/_sandbox/creatives/cmp_tea/crv_tea-card-320-light',
}

const title: MeasuredText = {
  part: 'title',
  text: 'Tea, and nothing else',
  size_px: 17,
  is_bold: false,
  is_shown: true,
  is_cut: false,
  color: [23, 23, 26],
  background: [255, 255, 255],
}

const image: MeasuredPicture = {
  part: 'image',
  natural: { width: 640, height: 360 },
  box: { width: 320, height: 180 },
  fit: 'contain',
  is_named: true,
}

function judge(
  change: { text?: Partial<MeasuredText>; picture?: Partial<MeasuredPicture>; moving?: string[] },
  of: Partial<SheetVariant> = {},
) {
  const measured: Measured = {
    texts: [{ ...title, ...change.text }],
    pictures: [{ ...image, ...change.picture }],
    moving: change.moving ?? [],
  }
  const { findings, unmeasured } = judgeVariant({ ...variant, ...of }, measured)
  return {
    rules: findings.map(({ rule, part }) => `${rule} ${part}`),
    unmeasured: unmeasured.map(({ rule }) => rule),
    findings,
  }
}

test.each<[what: string, change: Parameters<typeof judge>[0], of?: Partial<SheetVariant>]>([
  ['a good creative', {}],
  ['the smallest text that can be read', { text: { size_px: 11 } }],
  ['the least contrast', { text: { color: [118, 118, 118] } }],
  ['the least contrast of large text', { text: { color: [148, 148, 148], size_px: 24 } }],
  ['the least contrast of large bold text', { text: { color: [148, 148, 148], size_px: 18.66, is_bold: true } }],
  ['a shape that is off by a pixel', { picture: { natural: { width: 640, height: 363 } } }],
  ['a picture that is cropped to its place', { picture: { fit: 'cover', natural: { width: 100, height: 900 } } }],
  ['a picture that is hidden', { picture: { box: { width: 0, height: 0 } } }],
  ['a clip that plays for readers who like that', { moving: ['video'] }],
  ['a clip that waits', {}, { is_motion_reduced: true }],
])('%s is right', (_, change, of) => {
  const { rules, unmeasured } = judge(change, of)
  expect({ rules, unmeasured }).toEqual({ rules: [], unmeasured: [] })
})

test.each<[rule: string, change: Parameters<typeof judge>[0], of?: Partial<SheetVariant>]>([
  ['text-cut title', { text: { is_cut: true } }],
  ['text-cut title', { text: { is_shown: false } }],
  ['text-small title', { text: { size_px: 10.9 } }],
  ['contrast title', { text: { color: [119, 119, 119] } }],
  ['contrast title', { text: { color: [119, 119, 119], size_px: 18.66 } }],
  ['contrast title', { text: { color: [149, 149, 149], size_px: 24 } }],
  ['ratio image', { picture: { natural: { width: 640, height: 374 } } }],
  ['ratio image', { picture: { natural: { width: 640, height: 346 }, fit: 'fill' } }],
  ['alternative-text image', { picture: { is_named: false } }],
  ['motion video', { moving: ['video'] }, { is_motion_reduced: true }],
])('%s is found', (rule, change, of) => {
  const { rules, findings } = judge(change, of)
  expect(rules).toEqual([rule])
  expect(findings[0]).toMatchObject({ variant_id: variant.variant_id, fix: expect.stringMatching(/\.$/) })
})

test('what cannot be measured is named, and is no finding', () => {
  expect(judge({ text: { background: null } })).toMatchObject({ rules: [], unmeasured: ['contrast'] })
  expect(judge({ text: { color: [250, 250, 250] } }, { theme: 'high_contrast' })).toMatchObject({
    ...{ rules: [], unmeasured: ['contrast'] },
  })
  expect(judge({ picture: { natural: { width: 0, height: 0 } } })).toMatchObject({ rules: [], unmeasured: ['ratio'] })
})

test('the fix of a text that is cut says what it has no room for', () => {
  const fix = (of: Partial<SheetVariant>) => judge({ text: { is_cut: true } }, of).findings[0]?.fix
  expect(fix({ words: 'german' })).toBe('Shorten the title: a translation of this length has no room in 320 px.')
  expect(fix({ text_percent: 200 })).toContain('readers with large text')
  expect(fix({})).toContain('leave this width or template out')
})

test('contrast is that of WCAG', () => {
  expect(contrast([0, 0, 0], [255, 255, 255])).toBeCloseTo(21)
  expect(contrast([255, 255, 255], [118, 118, 118])).toBeCloseTo(4.54, 2)
  expect(contrast([5, 5, 5], [5, 5, 5])).toBe(1)
})
