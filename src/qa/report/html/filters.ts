/** The bar that filters cases. It is there only when the script runs. */
import { type CaseResult, totalsOf } from '../../result.ts'
import { outcomes, outcomeWords } from '../words.ts'
import { html, type Markup } from './markup.ts'

export function filtersMarkup(cases: readonly CaseResult[]): Markup {
  const totals = totalsOf(cases)
  const tags = [...new Set(cases.flatMap(({ tags }) => tags))].toSorted()
  const present = outcomes.filter((outcome) => totals[outcome] > 0)
  return html`<form class="filters" id="filters" aria-label="Filter cases" hidden>
<label class="search"><span class="soft">Find</span> <input type="search" id="filter-text" placeholder="name, suite or tag" autocomplete="off" aria-keyshortcuts="/"></label>
<fieldset><legend class="hidden">Outcome</legend>${present.map((outcome) => html`<label class="toggle ${outcome}"><input type="checkbox" name="outcome" value="${outcome}"> ${outcomeWords[outcome]} <b>${totals[outcome]}</b></label>`)}</fieldset>
${tags.length > 0 && html`<label><span class="soft">Tag</span> <select id="filter-tag"><option value="">any</option>${tags.map((tag) => html`<option value="${tag}">${tag}</option>`)}</select></label>`}
<button type="reset">Clear</button>
<output id="filter-count" class="soft"></output>
</form>`
}
