/** A sheet compared with an earlier one, picture by picture. */
import { PNG } from 'pngjs'
import { comparePngs } from '../browser/screenshot.ts'
import { QaError } from '../result.ts'
import type { RenderedSheet } from './render.ts'

export interface SheetDifference {
  variant_id: string
  /** Share of the pixels that differ, 0 to 1; 1 where the sizes differ. Null for a variant that only one sheet has. */
  difference: number | null
  what: 'changed' | 'added' | 'removed'
  /** PNG that marks the pixels; null where there is none. */
  marked: Uint8Array | null
}

/** Returns the pictures of a sheet that was written as HTML, by variant. @throws QaError */
export function readPictures(html: string, file: string): Map<string, Uint8Array> {
  const pictures = new Map<string, Uint8Array>()
  for (const [, id = '', data = ''] of html.matchAll(/<img id="([\w.-]+)" src="data:image\/png;base64,([\w+/=]*)"/g)) {
    pictures.set(id, Buffer.from(data, 'base64'))
  }
  if (pictures.size > 0) return pictures
  const hint = 'Give one that svc creatives sheet has written: --out sheet.html'
  throw new QaError('report_invalid', `${file} has no pictures of a sheet.`, hint)
}

/** Returns what differs by more than `tolerance`, a share of the pixels of a picture. @throws QaError */
export function compareSheets(
  sheets: readonly RenderedSheet[],
  earlier: ReadonlyMap<string, Uint8Array>,
  { tolerance, file }: { tolerance: number; file: string },
): SheetDifference[] {
  const variants = sheets.flatMap(({ variants }) => variants)
  const now = new Set(variants.map(({ variant_id }) => variant_id))
  const found: SheetDifference[] = []
  for (const { variant_id, png } of variants) {
    if (png === null) continue
    const before = earlier.get(variant_id)
    if (before === undefined) found.push({ variant_id, difference: null, what: 'added', marked: null })
    else {
      const { difference, difference_png: marked } = comparePngs(decode(before, file), decode(png, 'the new sheet'))
      if (difference > tolerance) found.push({ variant_id, difference, what: 'changed', marked })
    }
  }
  for (const variant_id of earlier.keys()) {
    if (!now.has(variant_id)) found.push({ variant_id, difference: null, what: 'removed', marked: null })
  }
  return found
}

function decode(png: Uint8Array, file: string): PNG {
  try {
    return PNG.sync.read(Buffer.from(png))
  } catch (cause) {
    const hint = 'Write the earlier sheet again, by the version that it is of.'
    throw new QaError('report_invalid', `A picture of ${file} is broken.`, hint, cause)
  }
}
