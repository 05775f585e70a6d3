/** Renders the variants of a campaign in a browser: each from the frame that a page would get, as a picture, measured. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { z } from 'zod'
import { describeRequirement } from '#contract/errors.ts'
import { labelSchemeStyle, labelStyle } from '#contract/facts/label-style.ts'
import {
  CreativeSheet,
  SheetCampaigns,
  type SheetTheme,
  type SheetVariant,
} from '#contract/resources/sandbox/creative-sheet.ts'
import { parseJson } from '#foundation/json.ts'
import { QaError } from '../result.ts'
import { describeFailure, judgeVariant, type SheetFinding, type Unmeasured } from './checks.ts'
import { measurePictures, measureTexts } from './measure.ts'
import { stageHtml, stageVariant, startFrame } from './stage.ts'

export interface RenderedVariant extends SheetVariant {
  /** PNG; null when it could not be rendered. */
  png: Uint8Array | null
  findings: SheetFinding[]
  unmeasured: Unmeasured[]
}

export interface RenderedSheet {
  campaign_id: string
  sponsor_name: string
  variants: RenderedVariant[]
}

interface SheetSource {
  /** Of a sandbox. */
  base_url: string
  /** Its control token, where it needs one. */
  token: string | null
}

/** Returns the campaigns of a sandbox. @throws QaError */
export async function listCampaigns(browser: Browser, source: SheetSource) {
  return (await read(browser, source, '/_sandbox/creatives', SheetCampaigns)).campaigns
}

/**
 * Renders every variant of a campaign, in their order. `signal` ends it early, with those that are done.
 * @throws QaError
 */
export async function renderSheet(
  browser: Browser,
  source: SheetSource,
  { campaign_id, signal }: { campaign_id: string; signal: AbortSignal },
): Promise<RenderedSheet> {
  const path = `/_sandbox/creatives/${encodeURIComponent(campaign_id)}`
  const { sponsor_name, variants } = await read(browser, source, path, CreativeSheet)
  const groups = Map.groupBy(variants, ({ theme, is_motion_reduced }) => `${theme} ${is_motion_reduced}`)
  const rendered = await Promise.all(
    [...groups.values()].map(async (group) => {
      const [{ theme, is_motion_reduced }] = group as [SheetVariant, ...SheetVariant[]]
      const context = await browser.newContext({
        ...media[theme],
        ...(is_motion_reduced && { reducedMotion: 'reduce' }),
      })
      try {
        const page = await openStage(context, source)
        const done: RenderedVariant[] = []
        for (const variant of group) {
          if (signal.aborted) break
          done.push(await renderVariant(page, variant, sponsor_name))
        }
        return done
      } finally {
        await context.close()
      }
    }),
  )
  const byId = new Map(rendered.flat().map((variant) => [variant.variant_id, variant]))
  const inOrder = variants.flatMap(({ variant_id }) => byId.get(variant_id) ?? [])
  return { campaign_id, sponsor_name, variants: inOrder }
}

const media: Readonly<Record<SheetTheme, BrowserContextOptions>> = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  high_contrast: { colorScheme: 'dark', forcedColors: 'active', contrast: 'more' },
}

const stagePath = '/_sandbox/creatives/stage'

async function openStage(context: BrowserContext, source: SheetSource): Promise<Page> {
  await allow(context, source)
  await context.route(`**${stagePath}`, (route) => route.fulfill({ contentType: 'text/html', body: stageHtml }))
  const page = await context.newPage()
  await page.goto(`${source.base_url}${stagePath}`)
  return page
}

/** How long a frame may take to respond. */
const maxResponseMs = 15_000
/** The padding of the stage on both sides. */
const stageMarginPx = 8

async function renderVariant(page: Page, variant: SheetVariant, sponsor_name: string): Promise<RenderedVariant> {
  const { frame_path, width, height, label_text, is_motion_reduced, page_widths, format, theme } = variant
  await page.setViewportSize({ width: (page_widths[0] ?? width) + stageMarginPx, height: 900 })
  // Nothing of an error page answers: only its status says that there is no frame to wait for.
  const [response] = await Promise.all([
    page.waitForResponse((each) => each.url().endsWith(frame_path), { timeout: maxResponseMs }).catch(() => null),
    page.evaluate(stageVariant, {
      ...{ frame_path, width, height, label_text, sponsor_name, styles: [labelStyle, labelSchemeStyle] },
    }),
  ])
  if (response?.ok() === false) {
    const refusal = describeFailure(variant, `The service refused its frame with ${response.status()}.`)
    const fix = 'Is the campaign still there, and its files? The log has more: svc sandbox logs'
    return { ...variant, png: null, findings: [{ ...refusal, fix }], unmeasured: [] }
  }
  const frame = await (await page.$('#ad'))?.contentFrame()
  if (!frame) return failed(variant, 'It has no frame.')
  // A new frame gets the colours of the reader a moment after it has loaded.
  if (theme === 'high_contrast') await frame.waitForFunction(() => matchMedia('(forced-colors: active)').matches)
  const problem = await page.evaluate(startFrame, { is_in_view: is_motion_reduced && format === 'clip' })
  if (problem !== null) return failed(variant, `Its frame reports ${problem}.`)
  const label = await page.evaluate(measureTexts, '[data-sp-label]')
  const own = await frame.evaluate(measureTexts, '.creative')
  const measured = { ...(await frame.evaluate(measurePictures, '.creative')), texts: [...label, ...own] }
  const png = await page.locator('#place').screenshot({ animations: 'disabled' })
  return { ...variant, png, ...judgeVariant(variant, measured) }
}

function failed(variant: SheetVariant, message: string): RenderedVariant {
  return { ...variant, png: null, findings: [describeFailure(variant, message)], unmeasured: [] }
}

async function read<T>(browser: Browser, source: SheetSource, path: string, schema: z.ZodType<T>): Promise<T> {
  const context = await browser.newContext()
  try {
    await allow(context, source)
    const response = await context.request.get(`${source.base_url}${path}`)
    const fail = (problem: string) => {
      const message = `${source.base_url}${path} responds with ${problem}.`
      return new QaError('target_invalid', message, 'Start the sandbox again with this version: svc start')
    }
    if (!response.ok()) throw fail(`${response.status()}`)
    const body = parseJson(await response.text())
    if (body === undefined) throw fail('something that is not JSON')
    const { success, data, error } = schema.safeParse(body)
    if (success) return data
    const [issue] = error.issues
    throw fail(`JSON whose ${issue?.path.join('.') || 'whole'} ${describeRequirement(issue)}`)
  } finally {
    await context.close()
  }
}

async function allow(context: BrowserContext, { token }: SheetSource): Promise<void> {
  if (token !== null) await context.setExtraHTTPHeaders({ 'x-sandbox-token': token })
}

/** Width of a contact sheet, CSS pixels: eight pictures beside each other. */
const contactWidth = 1536

/** Resolves to a page as one PNG. */
export async function pictureOfPage(browser: Browser, html: string): Promise<Uint8Array> {
  const context = await browser.newContext({ viewport: { width: contactWidth, height: 900 }, colorScheme: 'light' })
  try {
    const page = await context.newPage()
    await page.setContent(html, { waitUntil: 'load' })
    return await page.screenshot({ fullPage: true })
  } finally {
    await context.close()
  }
}
