/** What is wrong with a variant, by what was measured in it. A check is certain, or says that it was not measured. */
import type { SheetVariant } from '#contract/resources/sandbox/creative-sheet.ts'
import type { Finding } from '#foundation/finding.ts'
import type { Measured, MeasuredPicture, MeasuredText, Rgb } from './measure.ts'

type SheetRule = 'text-cut' | 'text-small' | 'contrast' | 'ratio' | 'alternative-text' | 'motion' | 'not-rendered'

export interface SheetFinding extends Omit<Finding, 'severity'> {
  rule: SheetRule
  variant_id: string
  /** The part of the creative: `title`, `image`. */
  part: string
}

export interface Unmeasured {
  rule: SheetRule
  part: string
  why: string
}

export interface Judged {
  findings: SheetFinding[]
  unmeasured: Unmeasured[]
}

/** Text below is too small to read on a phone, CSS pixels. */
const minTextPx = 11
/** WCAG 2.2, 1.4.3 (AA): the least contrast, and that of large text. */
const minContrast = 4.5
const minLargeContrast = 3
const largePx = 24
const largeBoldPx = 18.66
/** How far a picture's shape may be from that of its place. */
const maxRatioChange = 0.02

/** Judges a variant. @param measured of its frame and its label together */
export function judgeVariant(variant: SheetVariant, measured: Measured): Judged {
  const judged: Judged = { findings: [], unmeasured: [] }
  const { variant_id } = variant
  const add = (finding: Omit<SheetFinding, 'variant_id'>) => judged.findings.push({ variant_id, ...finding })
  for (const text of measured.texts) {
    const { part } = text
    if (!text.is_shown || text.is_cut) {
      add({ rule: 'text-cut', part, message: cutMessage(text), fix: cutFix(variant, part) })
    }
    if (!text.is_shown) continue
    if (text.size_px < minTextPx) {
      const message = `The ${part} has text of ${round(text.size_px)} px.`
      add({ rule: 'text-small', part, message, fix: `Make it at least ${minTextPx} px.` })
    }
    judgeContrast(variant, text, judged)
  }
  for (const picture of measured.pictures) judgePicture(variant_id, picture, judged)
  if (variant.is_motion_reduced) {
    for (const part of measured.moving) {
      const fix = 'Start it only when the reader asks for it, where prefers-reduced-motion is reduce.'
      add({ rule: 'motion', part, message: `The ${part} moves although the reader asked for less motion.`, fix })
    }
  }
  return judged
}

/** Returns the finding of a variant that was not rendered. */
export function describeFailure({ variant_id }: SheetVariant, message: string): SheetFinding {
  const fix = 'Look at the file of the creative: the browser cannot show it.'
  return { rule: 'not-rendered', variant_id, part: 'frame', message, fix }
}

function cutMessage({ part, text, is_shown }: MeasuredText): string {
  const words = text.length > 60 ? `${text.slice(0, 60)}…` : text
  return is_shown ? `The ${part} is cut off: “${words}”` : `The ${part} isn't shown: “${words}”`
}

function cutFix({ words, text_percent, width }: SheetVariant, part: string): string {
  if (words !== 'own') return `Shorten the ${part}: a translation of this length has no room in ${width} px.`
  if (text_percent !== 100) return `Shorten the ${part}: readers with large text lose its end.`
  return `Shorten the ${part}, or leave this width or template out.`
}

function judgeContrast(
  { variant_id, theme }: SheetVariant,
  text: MeasuredText,
  { findings, unmeasured }: Judged,
): void {
  const { part, color, background, size_px, is_bold } = text
  if (theme === 'high_contrast') {
    unmeasured.push({ rule: 'contrast', part, why: 'The colours are those of the reader.' })
    return
  }
  if (background === null) {
    unmeasured.push({ rule: 'contrast', part, why: 'There is no plain colour behind it.' })
    return
  }
  const least = size_px >= largePx || (is_bold && size_px >= largeBoldPx) ? minLargeContrast : minContrast
  const ratio = contrast(color, background)
  if (ratio >= least) return
  // Rounded down: 4.499 must not read as enough.
  const message = `The ${part} has a contrast of ${Math.floor(ratio * 100) / 100}:1, less than ${least}:1.`
  findings.push({ rule: 'contrast', variant_id, part, message, fix: 'Choose a darker or lighter colour for it.' })
}

function judgePicture(variant_id: string, picture: MeasuredPicture, { findings, unmeasured }: Judged): void {
  const { part, natural, box, fit, is_named } = picture
  if (!is_named) {
    const message = `The ${part} has no alternative text.`
    const fix = 'Give the campaign a sponsor_name: screen readers read it in place of the picture.'
    findings.push({ rule: 'alternative-text', variant_id, part, message, fix })
  }
  if (box.width === 0 || box.height === 0) return
  if (natural.width === 0 || natural.height === 0) {
    unmeasured.push({ rule: 'ratio', part, why: 'It has not loaded, or has no size of its own.' })
    return
  }
  // Cut to its place on purpose: its shape stays.
  if (fit === 'cover' || fit === 'none') return
  const change = natural.width / natural.height / (box.width / box.height)
  if (Math.abs(change - 1) <= maxRatioChange && Math.abs(1 / change - 1) <= maxRatioChange) return
  const shapes = `${natural.width}x${natural.height} in a place of ${Math.round(box.width)}x${Math.round(box.height)}`
  const effect = fit === 'fill' ? 'is distorted' : 'has bars beside it'
  const fix = `Export it in the shape of its place, such as ${Math.round(box.width * 2)}x${Math.round(box.height * 2)}.`
  findings.push({ rule: 'ratio', variant_id, part, message: `The ${part} ${effect}: ${shapes}.`, fix })
}

/** Returns the contrast of two colours by WCAG 2.2, 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [lower, higher] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [number, number]
  return (higher + 0.05) / (lower + 0.05)
}

function luminance(color: Rgb): number {
  const [red, green, blue] = color.map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
