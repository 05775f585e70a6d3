/** A code assistant: an editor in which a suggestion arrives as a diff. The slot is a shelf below the editor. */
import { el, unseen } from '../elements.ts'
import { icon } from '../icons.ts'
import { isCalm, pause, write } from '../pace.ts'
import { createSlot } from '../slot.ts'
import { codeFallback, codePrompts, type Suggestion } from './code-script.ts'
import type { Surface, SurfaceKind } from './surface.ts'
import { colour } from './syntax.ts'

export const code: SurfaceKind = {
  job_type: 'code',
  icon: 'code',
  name: 'Code',
  product: 'Codewold',
  tagline: 'Suggestions you can read',
  placeholder: 'Describe a change',
  ask: 'Suggest',
  prompts: codePrompts,
  slot: { position: 'below', timing: 'during', max_height: 280, banner_max_height: 100, share: 0.36 },
  template: { narrow: 'minimal', wide: 'minimal' },
  open,
}

const folder = ['src/fetch-invoice.ts', 'src/price.ts', 'reports/daily-orders.sql', 'test/parse-amount.test.ts']

function open(window: HTMLElement): Surface {
  const slot = createSlot('code')
  const files = el('ul', { class: 'files', 'aria-label': 'Files' })
  const tab = el('span', { class: 'tab' })
  const lines = el('div', { class: 'lines', dir: 'ltr' })
  const editor = el('div', { class: 'editor scroller', tabindex: 0, role: 'region', 'aria-label': 'Editor' }, lines)
  const request = el('p', { class: 'request' })
  const note = el('p', { class: 'note' })
  const actions = el('div', { class: 'actions' })
  const card = el('div', { class: 'suggestion', 'aria-busy': 'true' }, request, note, actions)
  window.append(
    el(
      'div',
      { class: 'code' },
      el('nav', { class: 'explorer', 'aria-label': 'Explorer' }, el('h3', {}, 'ledger'), files),
      el('div', { class: 'pane' }, el('div', { class: 'tabs' }, tab), editor, card, slot.element),
    ),
  )

  function show({ file, diff }: Suggestion): HTMLElement[] {
    files.replaceChildren(
      ...folder.map((name) =>
        el('li', { 'aria-current': name === file ? 'true' : null }, icon('file'), name.split('/').at(-1)),
      ),
    )
    tab.replaceChildren(icon('file'), file)
    const rows = diff
      .slice(1)
      .split('\n')
      .map((line) => {
        const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'kept'
        const said = kind === 'kept' ? null : unseen(`${kind}: `)
        const text = el('code', {}, ...colour(line.slice(1), file))
        return el('div', { class: `line ${kind}`, hidden: kind === 'added' }, el('i', { class: 'number' }), said, text)
      })
    lines.replaceChildren(...rows)
    return rows
  }

  function settle(outcome: 'accepted' | 'discarded'): void {
    const gone = outcome === 'accepted' ? 'removed' : 'added'
    for (const row of lines.querySelectorAll(`.${gone}`)) row.remove()
    for (const row of lines.querySelectorAll('.line')) row.className = 'line kept'
    actions.replaceChildren(el('span', { class: 'settled' }, outcome === 'accepted' ? 'Accepted' : 'Discarded'))
  }

  return {
    begin(prompt) {
      const suggestion = codePrompts.find(({ text }) => text === prompt.text)?.suggestion ?? codeFallback
      const rows = show(suggestion)
      request.textContent = prompt.text
      note.replaceChildren()
      actions.replaceChildren(el('span', { class: 'settled' }, 'Reading the file'))
      card.setAttribute('aria-busy', 'true')
      return {
        slot,
        async answer(signal) {
          try {
            await pause(900, signal)
            actions.replaceChildren(el('span', { class: 'settled' }, 'Writing'))
            for (const row of rows) {
              if (row.classList.contains('kept')) continue
              row.hidden = false
              row.classList.add('fresh')
              const { offsetTop, offsetHeight } = row
              if (offsetTop + offsetHeight > editor.scrollTop + editor.clientHeight) {
                editor.scrollTo({
                  top: offsetTop - editor.clientHeight / 2,
                  behavior: isCalm.matches ? 'auto' : 'smooth',
                })
              }
              await pause(130, signal)
            }
            await write(note, suggestion.note, signal)
            return `A suggestion for ${suggestion.file}. ${note.innerText}`
          } finally {
            card.removeAttribute('aria-busy')
            actions.replaceChildren(
              el('button', { type: 'button', class: 'small primary', onclick: () => settle('accepted') }, 'Accept'),
              el('button', { type: 'button', class: 'small', onclick: () => settle('discarded') }, 'Discard'),
              summary(rows),
            )
          }
        },
      }
    },
  }
}

function summary(rows: readonly HTMLElement[]): HTMLElement {
  const count = (kind: string) => rows.filter((row) => row.classList.contains(kind)).length
  return el(
    'span',
    { class: 'counts' },
    el('b', { class: 'plus' }, `+${count('added')}`),
    ' ',
    el('b', { class: 'minus' }, `−${count('removed')}`),
    unseen(' lines'),
  )
}
