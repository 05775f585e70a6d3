/**
 * How high each native template is at each width (A38): what a placement declares, and what its frame is laid out as. Its
 * pictures and lines of text share that height, so that it depends on no text. Nothing of zod is imported: the frame's script
 * has it too.
 */
import type { NativeTemplateId } from '#contract/fields.ts'

/** A width from which a layout applies, and its parts. CSS pixels, with a text of 16 px. */
interface Layout {
  readonly from_width: number
  /** Height of the picture above the words, by width, and at most. */
  readonly picture_ratio: number
  readonly max_picture: number
  /** Everything else, with as many lines as the style of the template reserves. */
  readonly words: number
}

const row = (from_width: number, words: number): Layout => ({ from_width, picture_ratio: 0, max_picture: 0, words })
const column = (from_width: number, picture_ratio: number, max_picture: number, words: number): Layout => {
  return { from_width, picture_ratio, max_picture, words }
}

/** The widest layout first. `sandbox/server/frame-html/creatives.ts` has the styles, with the same widths. */
const layouts: Readonly<Record<NativeTemplateId, readonly Layout[]>> = {
  card: [column(480, 1 / 1.91, 280, 156), column(280, 1 / 1.91, 280, 200), column(0, 1 / 1.91, 280, 244)],
  list_item: [row(520, 128), row(0, 166)],
  featured: [row(520, 308), column(280, 1 / 1.6, 300, 236), column(0, 1 / 1.6, 300, 286)],
  minimal: [row(520, 108), row(0, 158)],
}

/** The width of a native card that nothing limits. */
export const maxNativeWidth = 600

/** The smallest slot where a native template is legible. */
export const minNativeSize = { width: 120, height: 50 }

/** Returns the height of a template at a width, in CSS pixels. `text_scale` is the reader's size of text, by 16 px. */
export function nativeHeight(template: NativeTemplateId, width: number, text_scale = 1): number {
  const all = layouts[template]
  const { picture_ratio, max_picture, words } = all.find(({ from_width }) => width >= from_width) ?? all.at(-1)!
  return Math.round(Math.min(width * picture_ratio, max_picture) + words * text_scale)
}
