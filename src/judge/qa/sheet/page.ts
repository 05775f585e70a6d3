/** A sheet as one page: every picture with what is wrong below it. It loads nothing and runs no script. */
import { createHash } from 'node:crypto'
import { type Hole, html, trusted } from '#foundation/html.ts'
import { plural } from '#text/text.ts'
import type { SheetDifference } from './compare.ts'
import type { RenderedSheet, RenderedVariant } from './render.ts'

export interface SheetReport {
  sheets: readonly RenderedSheet[]
  /** Null without an earlier sheet to compare with. */
  differences: readonly SheetDifference[] | null
  svc_version: string
}

/** Returns a sheet as a self-contained page. `isContact` makes the pictures small, for one large picture of all. */
export function renderSheetPage({ sheets, differences, svc_version }: SheetReport, isContact = false): string {
  const variants = sheets.flatMap(({ variants }) => variants)
  const count = variants.reduce((sum, { findings }) => sum + findings.length, 0)
  const byId = new Map(differences?.map((each) => [each.variant_id, each]))
  const removed = differences?.filter(({ what }) => what === 'removed') ?? []
  const title = `Creative sheet: ${sheets.map(({ sponsor_name }) => sponsor_name).join(', ')}`
  const policy = `default-src 'none'; style-src '${hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'`
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${trusted(style)}</style></head>
<body${isContact && trusted(' class="contact"')}>
<header><h1>${title}</h1>
<p>${plural(variants.length, 'variant')}, <b class="${count > 0 ? 'bad' : 'good'}">${plural(count, 'finding')}</b>${differences !== null && html`, <b class="${differences.length > 0 ? 'bad' : 'good'}">${plural(differences.length, 'difference')}</b> from the earlier sheet`} · svc ${svc_version}</p>
${!isContact && listMarkup(variants, removed)}</header>
<main>${sheets.map((sheet) => sheetMarkup(sheet, byId))}</main>
</body></html>
`.markup
}

/** What is wrong, once for each part that has it, with links to the pictures. */
function listMarkup(variants: readonly RenderedVariant[], removed: readonly SheetDifference[]): Hole {
  const findings = Map.groupBy(
    variants.flatMap((variant) => variant.findings.map((finding) => ({ variant, finding }))),
    ({ variant, finding }) => `${finding.rule} ${variant.creative_id} ${variant.template_id} ${finding.part}`,
  )
  if (findings.size === 0 && removed.length === 0) return null
  return html`<details><summary>What is wrong, by creative</summary><ul>
${[...findings.values()].map(
  (
    all,
  ) => html`<li><code>${all[0]!.finding.rule}</code> ${lookName(all[0]!.variant)}, ${all[0]!.finding.part}: ${all.map(({ variant }, at) => html`${at > 0 && ', '}<a href="#${variant.variant_id}">${variantName(variant)}</a>`)}</li>
`,
)}${removed.map(
  ({ variant_id }) => html`<li><code>removed</code> ${variant_id} is in the earlier sheet alone.</li>
`,
)}</ul></details>`
}

function sheetMarkup(sheet: RenderedSheet, differences: ReadonlyMap<string, SheetDifference>): Hole {
  const groups = Map.groupBy(sheet.variants, lookName)
  return html`<h2>${sheet.sponsor_name} <code>${sheet.campaign_id}</code></h2>
${[...groups].map(
  ([name, variants]) => html`<section><h3>${name}</h3><div class="grid">
${variants.map((variant) => figureMarkup(variant, differences.get(variant.variant_id)))}</div></section>
`,
)}`
}

function figureMarkup(variant: RenderedVariant, difference: SheetDifference | undefined): Hole {
  const { variant_id, png, findings, unmeasured } = variant
  const reasons = Map.groupBy(unmeasured, ({ rule, why }) => `${rule}: ${why}`)
  return html`<figure class="${findings.length > 0 || difference !== undefined ? 'wrong' : 'right'}">
<div class="picture">${png === null ? html`<p class="none" id="${variant_id}">Not rendered</p>` : html`<img id="${variant_id}" src="${dataUrl(png)}" alt="${lookName(variant)}, ${variantName(variant)}">`}</div>
<figcaption><p class="name">${variantName(variant)}</p>
${findings.map(
  ({
    rule,
    message,
    fix,
  }) => html`<p class="finding"><code>${rule}</code> <bdi>${message}</bdi> <span class="soft">${fix}</span></p>
`,
)}${difference !== undefined && html`<p class="finding"><code>${difference.what}</code> ${differenceText(difference)}</p>${difference.marked !== null && html`<img class="marked" src="${dataUrl(difference.marked)}" alt="The pixels that differ">`}`}${[
  ...reasons,
].map(
  ([
    reason,
    all,
  ]) => html`<p class="soft">Unmeasured, ${reason} (${[...new Set(all.map(({ part }) => part))].join(', ')})</p>
`,
)}</figcaption></figure>
`
}

/** Returns how far a variant is from the earlier sheet, in words. */
function differenceText({ what, difference }: SheetDifference): string {
  if (what === 'added') return 'The earlier sheet has no such variant.'
  if (what === 'removed') return 'Only the earlier sheet has it.'
  return difference === 1
    ? 'It has another size, or every pixel differs.'
    : `${percent(difference!)} of its pixels differ.`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`
}

/** Returns the creative and template of a variant: `native, card`. */
function lookName({ creative_id, format, template_id }: RenderedVariant): string {
  return template_id === null ? `${format}, ${creative_id}` : `${format}, ${template_id}, ${creative_id}`
}

/** Returns what distinguishes a variant of a creative: `320 px, dark`. */
function variantName({ page_widths, width, theme, about }: RenderedVariant): string {
  const pages = page_widths.every((page) => page === width) ? '' : `, pages of ${page_widths.join(', ')} px`
  return [`${width} px${pages}`, theme.replace('_', ' '), about].filter((part) => part !== '').join(', ')
}

function dataUrl(png: Uint8Array): string {
  return `data:image/png;base64,${Buffer.from(png).toString('base64')}`
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

const style = `
:root{color-scheme:light dark;--ink:light-dark(#17171a,#f4f4f6);--soft:light-dark(#5a5a63,#abaab5);--line:light-dark(#dedee3,#3a3a42);--paper:light-dark(#fff,#1c1c20);--bad:light-dark(#b42318,#ff9b8f);--good:light-dark(#0b6e4f,#6fd6ae)}
*{box-sizing:border-box}
body{margin:0;padding:24px clamp(16px,4vw,48px);background:light-dark(#f6f6f8,#121214);color:var(--ink);font:14px/1.5 system-ui,sans-serif}
h1{margin:0;font-size:22px;line-height:1.3}h2{margin:32px 0 0;font-size:18px}h3{margin:24px 0 8px;font-size:14px;overflow-wrap:anywhere}
h2 code{color:var(--soft);font-size:13px;font-weight:400}
p{margin:4px 0}a{color:inherit}ul{padding-left:18px}li{margin:4px 0;overflow-wrap:anywhere}
code{font-size:12px}summary{cursor:pointer;padding:8px 0}
.soft{color:var(--soft)}.bad{color:var(--bad)}.good{color:var(--good)}
.grid{display:flex;flex-wrap:wrap;align-items:flex-start;gap:16px}
figure{display:flex;flex-direction:column;max-width:100%;min-width:min(240px,100%);margin:0;border:1px solid var(--line);border-radius:10px;background:var(--paper);overflow:hidden}
figure.wrong{border-color:var(--bad)}
.picture{padding:8px;border-bottom:1px solid var(--line)}
img{display:block;max-width:100%;height:auto}
figcaption{width:0;min-width:100%;padding:8px 12px;font-size:13px;overflow-wrap:anywhere}
.name{font-weight:600}.finding code{color:var(--bad)}.none{color:var(--bad)}.marked{margin-top:8px}
.contact{padding:16px}.contact .grid{gap:8px}.contact figure{width:180px;min-width:0}.contact figcaption{font-size:10px;line-height:1.35;padding:4px 6px}.contact .picture{padding:4px}.contact h3{margin:12px 0 4px;font-size:12px}.contact .soft{display:none}
:target{outline:3px solid var(--bad);outline-offset:2px}
`
