/** The head of the page: what was run against what, and how it ended. */
import { type RunResult, type Totals, totalsOf } from '../../result.ts'
import { durationText, outcomes, outcomeWords, plural, targetText } from '../words.ts'
import { html, type Markup } from './markup.ts'

export function headMarkup(result: RunResult): Markup {
  const totals = totalsOf(result.cases)
  const { target, started_at_ms, duration_ms, svc_version, interrupted } = result
  const started = new Date(started_at_ms).toISOString()
  const shown = outcomes.filter((outcome) => totals[outcome] > 0 || outcome === 'failed' || outcome === 'passed')
  return html`<header class="top"><div class="wrap">
<p class="brand">svc qa</p>
<h1>${headline(totals)}</h1>
<p class="soft">Against ${targetText(target)} · <time datetime="${started}">${started.slice(0, 19).replace('T', ' ')} UTC</time> · ${durationText(duration_ms)} · svc ${svc_version}</p>
${interrupted !== null && html`<p class="reason not_run">Interrupted by ${interrupted}: this is not the whole run.</p>`}
${proportions(totals)}
<dl class="totals">${shown.map((outcome) => html`<div class="${totals[outcome] > 0 ? outcome : 'none'}"><dt>${outcomeWords[outcome]}</dt><dd>${totals[outcome]}</dd></div>`)}<div><dt>checks</dt><dd>${totals.checks}${totals.failed_checks > 0 && html` <small>${totals.failed_checks} failed</small>`}</dd></div></dl>
</div></header>`
}

/** In a few words, also the title of the page. */
export function headline({ cases, failed, passed, not_run }: Totals): string {
  if (cases === 0) return 'No case was run'
  if (failed > 0) return `${failed} of ${plural(cases, 'case')} failed`
  if (passed === cases) return cases === 1 ? 'The case passed' : `All ${cases} cases passed`
  if (not_run > 0) return `${passed} of ${plural(cases, 'case')} passed, ${not_run} did not run`
  return passed === 0 ? 'No case applies to this target' : `All ${plural(passed, 'case')} that apply here passed`
}

function proportions(totals: Totals): Markup {
  let x = 0
  const parts = outcomes.map((outcome) => {
    const width = totals.cases === 0 ? 0 : (totals[outcome] / totals.cases) * 100
    x += width
    return html`<rect class="${outcome}" x="${(x - width).toFixed(3)}" width="${width.toFixed(3)}" height="4"/>`
  })
  return html`<svg class="proportions" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">${parts}</svg>`
}
