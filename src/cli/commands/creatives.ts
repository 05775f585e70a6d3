/** `svc creatives sheet`: every creative of a campaign as everyone may see it, and what is wrong with it. */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Argument, InvalidArgumentError, Option } from 'commander'
import type { CommandContext, CommandInput, Noun } from '#cli/run/command.ts'
import { noteOtherFolder } from '#cli/run/command-client.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import { unwritable } from '#cli/run/file-errors.ts'
import { readUserText } from '#cli/run/user-file.ts'
import { permittedControlToken } from '#cli/settings/settings.ts'
import { replaceFile } from '#foundation/file-system.ts'
import type { BrowserHost } from '#qa/browser/launch.ts'
import type { SheetDifference } from '#qa/sheet/compare.ts'
import type { SheetReport } from '#qa/sheet/page.ts'
import type { RenderedSheet, RenderedVariant } from '#qa/sheet/render.ts'
import { CliError, didYouMean, exitCodes } from '#text/cli-error.ts'
import type { Style } from '#text/terminal.ts'
import { hangingLines, plural } from '#text/text.ts'
import { version } from '#text/version.ts'
import { onFirstInterrupt } from './exec.ts'
import { qaFailure } from './qa/failure.ts'
import { browserPathOption, browserProgram, startBrowser } from './qa/targets.ts'
import { startOnFreePort } from './sandbox/emulator.ts'

interface SheetFlags {
  out?: string
  compareWith?: string
  tolerance: number
  browserPath?: string
}

type Browser = Awaited<ReturnType<BrowserHost['get']>>

/** Share of the pixels of a picture. */
const usualTolerance = 0.001

export const creatives: Noun = {
  summary: 'Look at every creative of a campaign as everyone may see it',
  commands: [
    {
      name: 'sheet',
      summary: 'Show each creative in every width, theme and language, with its faults',
      details: [
        'Renders each creative from its real frame: native ones in all four templates; 320, 390 and 768 px wide; light, dark and high contrast; with long, German, Japanese and Arabic sample words, 200 % text, reduced motion and other labels. What is cut off, too small, of too little contrast, out of shape, without alternative text or moving is listed; what cannot be measured is named as such.',
        'Exit code 0 if nothing was found, 5 if something was, or if a picture differs from --compare-with by more than --tolerance, 7 without a sandbox or browser.',
      ].join('\n\n'),
      arguments: [new Argument('<campaign>', 'a campaign_id of the running sandbox, or a file of your own campaigns')],
      options: [
        new Option('--out <file>', 'the sheet to write, .html or .png; default: only what was found is printed'),
        new Option('--compare-with <sheet>', 'an earlier sheet as .html, whose pictures must be the same'),
        new Option('--tolerance <share>', 'share of the pixels of a picture that may differ')
          .argParser(parseShare)
          .default(usualTolerance),
        browserPathOption,
      ],
      examples: [
        'creatives sheet cmp_larkfield_coffee --out sheet.html',
        'creatives sheet demand.yaml --out sheet.html',
        'creatives sheet cmp_larkfield_coffee --compare-with sheet.html -o json',
      ],
      async run(context, { args: [campaign], options: flags }: CommandInput<SheetFlags>) {
        checkOut(flags.out)
        const earlier = await readEarlier(context, flags.compareWith)
        const path = await browserProgram(context, { engine: 'chromium', path: flags.browserPath }, '')
        await using source = await openSource(context, campaign!)
        const host = await startBrowser(context, path)
        try {
          const signal = onFirstInterrupt(context)
          const browser = await host.get()
          const sheets = await context.out.progress('rendering', render(browser, source, signal))
          if (signal.aborted) return exitCodes.interrupted.exit_code
          const report = { sheets, svc_version: version, differences: await compare(sheets, earlier, flags) }
          if (flags.out !== undefined) await write(context, browser, flags.out, report)
          return print(context, flags, report)
        } catch (error) {
          throw qaFailure(error)
        } finally {
          await host.close()
        }
      },
    },
  ],
}

function parseShare(text: string): number {
  const share = Number(text)
  if (text.trim() !== '' && share >= 0 && share <= 1) return share
  throw new InvalidArgumentError('It is a share of the pixels, from 0 to 1, such as 0.001.')
}

function checkOut(out: string | undefined): void {
  if (out === undefined || /\.(html|png)$/i.test(out)) return
  const message = `A sheet is written as .html or .png, not as ${out}.`
  throw new CliError('usage', 'format_unknown', message, 'Name it so: --out sheet.html')
}

async function readEarlier(context: CommandContext, file: string | undefined) {
  if (file === undefined) return null
  const { readPictures } = await import('#qa/sheet/compare.ts')
  try {
    return readPictures(await readUserText(context.system, file), file)
  } catch (error) {
    throw qaFailure(error)
  }
}

interface Source extends AsyncDisposable {
  base_url: string
  token: string | null
  /** Null for all. */
  campaign_id: string | null
}

/** The running sandbox, or one in memory that has the campaigns of a file alone. */
async function openSource(context: CommandContext, campaign: string): Promise<Source> {
  const { system, settings } = context
  if (existsSync(resolve(system.cwd, campaign)) || /\.ya?ml$/i.test(campaign)) {
    const own = { port: 0, host: '127.0.0.1', ephemeral: true, demand: campaign, only: true } as const
    const { sandbox } = await startOnFreePort(context, own)
    return { base_url: sandbox.url, token: null, campaign_id: null, [Symbol.asyncDispose]: () => sandbox.close() }
  }
  if (settings.sandbox === null && settings.source.base_url === 'default') throw noSandboxFor(settings)
  noteOtherFolder(system, settings)
  const { base_url } = settings
  const token = permittedControlToken(settings) ?? null
  return { base_url, token, campaign_id: campaign, [Symbol.asyncDispose]: async () => {} }
}

/** Throws CliError for a campaign that the sandbox does not have. */
async function render(browser: Browser, source: Source, signal: AbortSignal): Promise<RenderedSheet[]> {
  const { listCampaigns, renderSheet } = await import('#qa/sheet/render.ts')
  const { campaign_id } = source
  const known = (await listCampaigns(browser, source)).map((each) => each.campaign_id)
  if (campaign_id !== null && !known.includes(campaign_id)) {
    const message = `The sandbox has no campaign '${campaign_id}'.`
    const hint = `Try one of them: ${known.slice(0, 3).join(', ')}.`
    throw new CliError('usage', 'campaign_unknown', message, didYouMean(campaign_id, known) ?? hint)
  }
  const sheets: RenderedSheet[] = []
  for (const each of campaign_id === null ? known : [campaign_id]) {
    if (!signal.aborted) sheets.push(await renderSheet(browser, source, { campaign_id: each, signal }))
  }
  return sheets
}

async function compare(
  sheets: readonly RenderedSheet[],
  earlier: ReadonlyMap<string, Uint8Array> | null,
  { tolerance, compareWith = '' }: SheetFlags,
): Promise<SheetDifference[] | null> {
  if (earlier === null) return null
  const { compareSheets } = await import('#qa/sheet/compare.ts')
  return compareSheets(sheets, earlier, { tolerance, file: compareWith })
}

async function write({ system }: CommandContext, browser: Browser, out: string, report: SheetReport): Promise<void> {
  const { renderSheetPage } = await import('#qa/sheet/page.ts')
  const path = resolve(system.cwd, out)
  const isPicture = /\.png$/i.test(out)
  const content = isPicture
    ? await (await import('#qa/sheet/render.ts')).pictureOfPage(browser, renderSheetPage(report, true))
    : renderSheetPage(report)
  try {
    replaceFile(path, content)
  } catch (error) {
    throw unwritable(path, error, 'Give another place: --out FILE.')
  }
}

/** Prints what was found. Returns the exit code. */
function print({ out }: CommandContext, { out: file }: SheetFlags, { sheets, differences }: SheetReport): number {
  const variants = sheets.flatMap(({ variants }) => variants)
  const findings = variants.flatMap((variant) => variant.findings)
  const unmeasured = variants.flatMap(({ variant_id, unmeasured }) =>
    unmeasured.map((each) => ({ variant_id, ...each })),
  )
  const isEmpty = variants.every(({ png }) => png === null)
  const shown = differences?.map(({ marked: _, ...rest }) => rest) ?? null
  const value = {
    campaigns: sheets.map(({ campaign_id }) => campaign_id),
    variants: variants.length,
    rendered: variants.filter(({ png }) => png !== null).length,
    out: file ?? null,
    findings,
    unmeasured,
    differences: shown,
  }
  out.data(value, (style) => textLines(variants, shown ?? [], style), findings)
  if (file !== undefined) out.note(`written: ${file}`)
  if (isEmpty) out.note('Nothing was rendered: there is nothing to judge.')
  const isRight = !isEmpty && findings.length === 0 && (differences ?? []).length === 0
  return (isRight ? exitCodes.ok : exitCodes.expectation).exit_code
}

function textLines(
  variants: readonly RenderedVariant[],
  differences: readonly Omit<SheetDifference, 'marked'>[],
  style: Style,
): string[] {
  const all = variants.flatMap((variant) => variant.findings.map((finding) => ({ variant, finding })))
  const groups = Map.groupBy(
    all,
    ({ variant, finding }) => `${finding.rule} ${variant.creative_id} ${variant.template_id} ${finding.part}`,
  )
  const lines = [...groups.values()].flatMap((group) => {
    const [{ variant, finding }] = group as [(typeof all)[number]]
    const where = [variant.creative_id, variant.template_id].filter((part) => part !== null).join(' as ')
    const rest = group.length > 1 ? ` And ${plural(group.length - 1, 'more variant')}.` : ''
    const text = `${where}, ${variant.width} px${variant.about && `, ${variant.about}`}: ${finding.message}${rest} ${finding.fix}`
    return hangingLines(`${style.red(finding.rule.padEnd(17))} `, text, style.columns)
  })
  const changed = differences.map(
    ({ what, variant_id, difference }) =>
      `${style.red(what.padEnd(17))} ${variant_id}${difference === null ? '' : `, ${(difference * 100).toFixed(2)} % of the pixels`}`,
  )
  const summary = `${plural(variants.length, 'variant')}, ${plural(all.length, 'finding')}`
  return [...lines, ...changed, ...(lines.length + changed.length > 0 ? [''] : []), summary]
}
