/** What a page shows of its placements: hosted frames, their label, and what kept them from being shown. */
import type { BrowserContext, Page } from '@playwright/test'
import type { PlacementDetail } from '../contract/control/placements.ts'
import type { Format } from '../contract/fields.ts'
import { describeReceived } from './expectations.ts'
import type { TestSandbox } from './test-sandbox.ts'

interface WantedPlacement {
  format: Format | undefined
  slot_id: string | undefined
}

/** What a page reported, for messages. */
export interface PageObservations {
  /** Errors and warnings of the console, uncaught errors, and requests to the sandbox that failed. */
  problems: string[]
}

/** A hosted frame in a page. */
export interface SeenFrame {
  slot_id: string | null
  format: Format | null
  /** Why it does not count as shown; null when it does. */
  problem: string | null
  /** Its size in the page, CSS pixels. */
  size: string
}

const mostProblems = 10

/** Collects what the pages of a context report. */
export function observeContext(context: BrowserContext, { url }: TestSandbox): PageObservations {
  const problems: string[] = []
  const add = (problem: string) => {
    if (problems.length < mostProblems) problems.push(problem)
  }
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') add(`console ${message.type()}: ${message.text()}`)
  })
  context.on('weberror', (error) => add(`uncaught: ${error.error().message}`))
  context.on('requestfailed', (request) => {
    if (!request.url().startsWith(url)) return
    add(
      `${request.method()} ${new URL(request.url()).pathname.replace(/ast_\w+/, 'ast_...')} failed: ${request.failure()?.errorText}`,
    )
  })
  return { problems }
}

/** Returns whether a page shows a placement of the kind, and every hosted frame in it. */
export async function findShown(
  page: Page,
  sandbox: TestSandbox,
  wanted: WantedPlacement,
): Promise<{ isShown: boolean; frames: SeenFrame[] }> {
  const frames: SeenFrame[] = []
  for (const frame of await page.locator('iframe').all()) {
    const address = await frame.getAttribute('src', { timeout: 1_000 }).catch(() => null)
    const [, token] = /\/v1\/render\/ast_([0-9a-z]{11})_/.exec(address ?? '') ?? []
    if (token === undefined) continue
    const detail = await sandbox.client.placements.explain({ params: { slot_id: `slot_${token}` } }).catch(() => null)
    const box = await frame.boundingBox({ timeout: 1_000 }).catch(() => null)
    const isVisible = await frame.isVisible().catch(() => false)
    frames.push({
      slot_id: detail?.slot_id ?? null,
      format: detail?.format ?? null,
      size: box === null ? 'not drawn' : `${Math.round(box.width)} x ${Math.round(box.height)}`,
      problem: await problemOf(page, detail, isVisible && box !== null && box.width > 1 && box.height > 1),
    })
  }
  const isWanted = ({ format, slot_id, problem }: SeenFrame) =>
    problem === null &&
    (wanted.format === undefined || format === wanted.format) &&
    (wanted.slot_id === undefined || slot_id === wanted.slot_id)
  return { isShown: frames.some(isWanted), frames }
}

async function problemOf(page: Page, detail: PlacementDetail | null, isVisible: boolean): Promise<string | null> {
  if (detail === null) return 'its asset token is not one of this sandbox'
  if (!isVisible) return 'it is not visible'
  if (detail.first_frame_at_ms === null) return 'its document was not loaded from the sandbox'
  const label = detail.decision?.fill === true ? detail.decision.ad_label_text : ''
  const isLabelled = await page
    .getByText(label)
    .first()
    .isVisible()
    .catch(() => false)
  return isLabelled ? null : `the ad label "${label}" is not visible in the page`
}

/**
 * Returns the message of an expectation that a page shows a placement, or none. `frames` are those that it had last: an app
 * may have removed them since.
 */
export async function describeShown(
  page: Page,
  sandbox: TestSandbox,
  { format, slot_id }: WantedPlacement,
  {
    seen,
    frames,
    timeout_ms,
    isNot,
  }: { seen: PageObservations; frames: readonly SeenFrame[]; timeout_ms: number; isNot: boolean },
): Promise<string> {
  const kind = `a ${format === undefined ? '' : `${format} `}placement${slot_id === undefined ? '' : ` ${slot_id}`}`
  const lines = frames.map(({ slot_id, format, size, problem }) => {
    return `  ${slot_id ?? 'a frame'}  ${format ?? 'unknown'}, ${size}: ${problem === null ? 'shown' : `not shown, ${problem}`}`
  })
  if (isNot) return [`Expected that the page does not show ${kind}, but it does.`, '', ...lines].join('\n')
  const current = await page.locator('iframe').count()
  const heading = current === 0 ? 'Frames that the page no longer has:' : 'Frames in the page:'
  return [
    `The page ${page.url()} did not show ${kind} within ${timeout_ms} ms.`,
    '',
    ...(lines.length === 0 ? ['The page had no frame of a placement.'] : [heading, ...lines]),
    await describeReceived(sandbox),
    ...(seen.problems.length === 0 ? [] : ['The page reported:', ...seen.problems.map((problem) => `  ${problem}`)]),
  ].join('\n')
}
