/** Markup whose values are escaped unless they are markup themselves, and the small parts that all of the page uses. */
import { printable } from '../../../cli/output/printable.ts'
import { escapeHtml } from '../../../foundation/html.ts'
import type { CaseResult, Outcome } from '../../result.ts'
import { outcomeWords } from '../text.ts'

export interface Markup {
  readonly markup: string
}

/** A value in a template: null and false are left out. */
export type Hole = Markup | string | number | null | false | readonly Hole[]

export function html(strings: TemplateStringsArray, ...holes: readonly Hole[]): Markup {
  return { markup: strings.map((part, index) => (index === 0 ? part : textOf(holes[index - 1]!) + part)).join('') }
}

/** Returns text as markup, unescaped: our own style sheet and script. */
export function trusted(markup: string): Markup {
  return { markup }
}

function textOf(hole: Hole): string {
  if (hole === null || hole === false) return ''
  if (typeof hole === 'string') return escapeHtml(printable(hole))
  if (typeof hole === 'number') return String(hole)
  return 'markup' in hole ? hole.markup : hole.map(textOf).join('')
}

/** An outcome as it looks; `warned`: it passed, and has a reason to look at it. */
export type Look = Outcome | 'warned'

export function lookOf({ outcome, reason }: Pick<CaseResult, 'outcome' | 'reason'>): Look {
  return outcome === 'passed' && reason !== null ? 'warned' : outcome
}

export const glyphs: Record<Look, string> = { passed: '✓', warned: '!', failed: '✗', not_applicable: '–', not_run: '○' }
const lookWords: Record<Look, string> = { ...outcomeWords, warned: 'passed with a warning' }

/** Returns the outcome as a coloured sign, with its name for screen readers. */
export function mark(look: Look): Markup {
  return html`<span class="mark ${look}" role="img" aria-label="${lookWords[look]}" title="${lookWords[look]}">${glyphs[look]}</span>`
}

/** Returns a bar from `start` to `start + length`, of 1. */
export function bar(start: number, length: number, kind: string): Markup {
  const x = (start * 100).toFixed(2)
  const width = Math.max(0.6, length * 100).toFixed(2)
  return html`<svg class="bar ${kind}" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect x="${x}" width="${width}" height="4"/></svg>`
}

/** Returns code with a button that copies it. */
export function copyable(text: string, name: string): Markup {
  return html`<div class="copyable"><pre><code>${text}</code></pre><button type="button" class="copy" data-copy aria-label="Copy ${name}">Copy</button></div>`
}
