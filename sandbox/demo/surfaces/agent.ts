/** An agent: a run whose tool calls tick off one by one. The slot stands between the steps and the report. */
import { el, unseen } from '../elements.ts'
import { icon } from '../icons.ts'
import { pause, write, writeNow } from '../pace.ts'
import { createSlot } from '../slot.ts'
import { stickToEnd } from '../stick-to-end.ts'
import { agentFallback, agentPrompts, type Run, type Step } from './agent-script.ts'
import type { Surface, SurfaceKind } from './surface.ts'

export const agent: SurfaceKind = {
  job_type: 'agent',
  icon: 'agent',
  name: 'Agent',
  product: 'Errandale',
  tagline: 'Runs errands, shows its work',
  placeholder: 'Give it a goal',
  ask: 'Run',
  prompts: agentPrompts,
  slot: { position: 'between', timing: 'during', max_height: 380, banner_max_height: 100, share: 0.45 },
  template: { narrow: 'list_item', wide: 'list_item' },
  open,
}

function open(window: HTMLElement): Surface {
  const slot = createSlot('agent')
  const goal = el('h3', { class: 'goal' })
  const plan = el('p', { class: 'plan' })
  const steps = el('ol', { class: 'steps' })
  const report = el('section', { class: 'report', 'aria-label': 'Report' })
  const page = el('div', { class: 'run' }, goal, plan, steps, slot.element, report)
  const scroller = el('div', { class: 'agent scroller', tabindex: 0, role: 'region', 'aria-label': 'Run' }, page)
  window.append(scroller)
  stickToEnd(scroller, page)

  return {
    begin(prompt) {
      const run = agentPrompts.find(({ text }) => text === prompt.text)?.run ?? agentFallback
      goal.textContent = prompt.text
      plan.replaceChildren()
      report.replaceChildren()
      report.hidden = true
      const rows = run.steps.map(stepRow)
      steps.replaceChildren(...rows)
      scroller.scrollTop = 0
      return {
        slot,
        async answer(signal) {
          try {
            await write(plan, run.plan, signal, 30)
            for (const [index, step] of run.steps.entries()) await take(step, rows[index], signal)
            report.hidden = false
            await writeReport(report, run, signal)
            return `${run.report.title}. ${run.report.end}`
          } finally {
            for (const row of rows) if (row.dataset.state === 'running') row.dataset.state = 'stopped'
          }
        },
      }
    },
  }
}

function stepRow({ icon: name, tool, input }: Step): HTMLElement {
  return el(
    'li',
    { class: 'step', 'data-state': 'waiting' },
    el('span', { class: 'mark' }, icon('check')),
    el('span', { class: 'tool' }, icon(name), el('code', {}, tool)),
    el('span', { class: 'input' }, input),
    el('span', { class: 'output' }),
  )
}

async function take({ output, takes_ms }: Step, row: HTMLElement | undefined, signal: AbortSignal): Promise<void> {
  if (row === undefined) return
  row.dataset.state = 'running'
  const place = row.querySelector('.output') as HTMLElement
  place.replaceChildren(unseen('running'))
  await pause(takes_ms, signal)
  place.replaceChildren()
  writeNow(place, output)
  row.dataset.state = 'done'
}

async function writeReport(home: HTMLElement, { report }: Run, signal: AbortSignal): Promise<void> {
  home.append(el('h4', {}, report.title))
  await write(home.appendChild(el('p')), report.text, signal)
  const [head = [], ...rows] = report.rows
  const body = el('tbody')
  home.append(
    el('table', {}, el('thead', {}, el('tr', {}, ...head.map((cell) => el('th', { scope: 'col' }, cell)))), body),
  )
  for (const cells of rows) {
    body.append(el('tr', { class: 'arriving' }, ...cells.map((cell) => el('td', {}, cell))))
    await pause(160, signal)
  }
  await write(home.appendChild(el('p')), report.end, signal)
}
