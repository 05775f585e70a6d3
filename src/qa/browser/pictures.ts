/** Pictures that acts take, and what is expected of them. */
import type { Locator, Page } from 'playwright-core'
import { check as judged } from '../expect/expectations.ts'
import type { JsonValue } from '../json.ts'
import type { Turn } from '../run/turn.ts'
import type { HostPage } from './host-page.ts'
import { compareWithStored, pixelsOf } from './pixels.ts'
import type { Screenshot } from './schema.ts'

const areas = { slot: '#slot', ad: '#slot iframe', label: '#slot [data-sp-label]' } as const

export async function takePicture(wanted: Screenshot, { page }: HostPage, turn: Turn): Promise<void> {
  const {
    name,
    of = 'slot',
    matches,
    tolerance = 0.01,
    ...figures
  } = typeof wanted === 'string' ? ({ name: wanted } as Exclude<Screenshot, string>) : wanted
  const png = await pictureOf(page, of)
  if (png === null) {
    const hint = `The page shows no ${of}, or it has no size.`
    turn.check({
      subject: `pixels ${name}`,
      passed: false,
      expected: `a picture of the ${of}`,
      actual: 'nothing',
      hint,
    })
    return
  }
  const seen = pixelsOf(png)
  turn.screenshot({ name, png, width: seen.width, height: seen.height })
  for (const [member, expected] of Object.entries(figures)) {
    if (expected === undefined) continue
    turn.check(judged(`pixels ${name}.${member}`, expected as JsonValue, seen[member as keyof typeof seen], {}))
  }
  if (matches !== undefined) compare(png, name, matches, tolerance, turn)
}

/** The window as it is, for whoever wants to see why something failed. */
export async function pictureOfFailure({ page }: HostPage, turn: Turn): Promise<void> {
  // Its failure is told already; a page that hangs or has crashed has no picture to add.
  const png = await page.screenshot({ timeout: 1_000 }).catch(() => null)
  if (png === null) return
  const { width, height } = pixelsOf(png)
  turn.screenshot({ name: 'the page when it failed', png, width, height })
}

async function pictureOf(page: Page, of: keyof typeof areas | 'page'): Promise<Uint8Array | null> {
  if (of === 'page') return page.screenshot({ animations: 'disabled' })
  const area: Locator = page.locator(areas[of]).first()
  const box = (await area.count()) === 0 ? null : await area.boundingBox()
  if (box === null || box.width < 1 || box.height < 1) return null
  return area.screenshot({ animations: 'disabled' })
}

function compare(png: Uint8Array, name: string, file: string, tolerance: number, turn: Turn): void {
  const subject = `pixels ${name} like ${file}`
  const compared = compareWithStored(png, turn.folder, file, turn.update_snapshots)
  if (compared.status === 'written') {
    turn.check({ subject, passed: true, expected: 'stored now', actual: 'stored now' })
    return
  }
  if (compared.status === 'missing') {
    const hint = 'Look at it, then store it: --update-snapshots.'
    turn.check({ subject, passed: false, expected: 'a stored picture', actual: 'none', hint })
    return
  }
  const { difference, difference_png, stored, seen } = compared
  if (difference_png !== null) turn.screenshot({ name: `${name}, difference`, png: difference_png, ...seen })
  const isResized = stored.width !== seen.width || stored.height !== seen.height
  turn.check({
    subject,
    passed: difference <= tolerance,
    expected: `at most ${tolerance} of the pixels differ`,
    actual: isResized
      ? `${seen.width}x${seen.height} instead of ${stored.width}x${stored.height}`
      : Math.round(difference * 1e4) / 1e4,
    ...(difference <= tolerance ? {} : { hint: 'Is it meant to look so? Store it: --update-snapshots.' }),
  })
}
