/**
 * The variants of a creative sheet. Not every combination, of which there are thousands: each creative in every width and theme,
 * and everything else alone, on the narrowest page, where it breaks first.
 */
import { maxNativeWidth, nativeHeight } from '#contract/facts/native-size.ts'
import { type Format, type NativeTemplateId, nativeTemplates } from '#contract/fields.ts'
import { type SheetVariant, themes, wordings } from '#contract/resources/sandbox/creative-sheet.ts'
import type { Campaign, Creative } from '../catalogue.ts'

/** CSS pixels: two phones and a tablet. */
const pageWidths = [320, 390, 768] as const

/** Labels of other languages, and the longest that is plausible. The first is the usual one. */
const labels = ['Sponsored', 'Anzeige', '広告', 'إعلان', 'Bezahlte Partnerschaft mit einem Unternehmen'] as const

type Conditions = Pick<SheetVariant, 'theme' | 'words' | 'text_percent' | 'is_motion_reduced' | 'label_text' | 'about'>

const plain: Conditions = {
  theme: 'light',
  words: 'own',
  text_percent: 100,
  is_motion_reduced: false,
  label_text: labels[0],
  about: '',
}

const wordingNames = {
  long_words: 'sample words: long',
  german: 'sample words: German',
  japanese: 'sample words: Japanese',
  arabic: 'sample words: Arabic, right to left',
} as const

/** What is varied alone, and the formats in which it can make a difference. */
const alone: readonly (readonly [id: string, of: readonly Format[], change: Partial<Conditions>])[] = [
  ...wordings
    .filter((words) => words !== 'own')
    .map((words) => [words, ['native'], { words, about: wordingNames[words] }] as const),
  ['text_200', ['native'], { text_percent: 200, about: '200 % text' }],
  ['still', ['native', 'clip'], { is_motion_reduced: true, about: 'reduced motion' }],
]

/** Returns every variant of a campaign's creatives, each with an id of its own. */
export function listVariants({ campaign_id, creatives }: Pick<Campaign, 'campaign_id' | 'creatives'>): SheetVariant[] {
  const found: SheetVariant[] = []
  const add = (look: Look, id: string, conditions: Partial<Conditions>) => {
    const { creative, template_id, width, height, page_widths } = look
    const variant_id = [creative.creative_id, template_id, width, id].filter((part) => part !== null).join('-')
    const frame_path = `/_sandbox/creatives/${campaign_id}/${variant_id}`
    const { creative_id, format } = creative
    found.push({
      ...{ variant_id, creative_id, format, template_id, page_widths: [...page_widths], width, height },
      ...{ ...plain, ...conditions, frame_path },
    })
  }
  for (const [index, creative] of creatives.entries()) {
    for (const template_id of creative.format === 'native' ? nativeTemplates : [null]) {
      const looks = listLooks(creative, template_id)
      for (const look of looks) for (const theme of themes) add(look, theme, { theme })
      const [narrow] = looks
      for (const [id, formats, change] of alone) if (formats.includes(creative.format)) add(narrow!, id, change)
      if (index > 0 || (template_id !== null && template_id !== nativeTemplates[0])) continue
      for (const label_text of labels.slice(1)) {
        add(narrow!, `label_${labels.indexOf(label_text)}`, { label_text, about: `label: ${label_text}` })
      }
    }
  }
  return found
}

/** A creative in a width. Pages in which it has the same one share it. */
interface Look {
  creative: Creative
  template_id: NativeTemplateId | null
  page_widths: readonly number[]
  width: number
  height: number
}

function listLooks(creative: Creative, template_id: NativeTemplateId | null): Look[] {
  const most = template_id === null ? creative.width : maxNativeWidth
  const widths = [...new Set(pageWidths.map((page) => Math.min(page, most)))]
  return widths.map((width) => {
    const page_widths = pageWidths.filter((page) => Math.min(page, most) === width)
    const height =
      template_id === null ? Math.round((creative.height * width) / creative.width) : nativeHeight(template_id, width)
    return { creative, template_id, page_widths, width, height }
  })
}
