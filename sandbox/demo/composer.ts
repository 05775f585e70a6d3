/** Where a person asks: chips with scripted prompts, free input, and one button that asks or stops. */
import { el } from './elements.ts'
import { icon } from './icons.ts'
import type { Prompt, SurfaceKind } from './surfaces/surface.ts'

export interface Composer {
  readonly element: HTMLElement
  setRunning(running: boolean): void
}

export function createComposer(
  kind: SurfaceKind,
  ask: (prompt: Prompt) => void,
  stop: () => void,
  again: () => void,
): Composer {
  const id = `ask-${kind.job_type}`
  const input = el('textarea', { id, rows: 1, placeholder: kind.placeholder, maxlength: 2_000, dir: 'auto' })
  const send = el('button', { type: 'submit', class: 'send' }, icon('send'), el('span', {}, kind.ask))
  const repeat = el('button', { type: 'button', class: 'small quiet', onclick: again }, icon('again'), 'Again')
  let isRunning = false

  const submit = (event?: Event) => {
    event?.preventDefault()
    if (isRunning && input.value.trim() === '') return stop()
    const text = input.value.trim()
    if (text === '') return input.focus()
    input.value = ''
    setButton()
    ask({ label: text, text })
  }
  const setButton = () => {
    const stops = isRunning && input.value.trim() === ''
    send.replaceChildren(icon(stops ? 'stop' : 'send'), el('span', {}, stops ? 'Stop' : kind.ask))
  }
  input.addEventListener('input', setButton)
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    submit(event)
  })
  const chips = kind.prompts.map((prompt) =>
    el(
      'li',
      {},
      el('button', { type: 'button', class: 'prompt', dir: 'auto', onclick: () => ask(prompt) }, prompt.label),
    ),
  )
  const element = el(
    'div',
    { class: 'composer' },
    el('div', { class: 'prompt-row' }, el('ul', { class: 'prompts', 'aria-label': 'Prompts' }, ...chips), repeat),
    el('form', { onsubmit: submit }, el('label', { class: 'unseen', for: id }, kind.placeholder), input, send),
  )
  return {
    element,
    setRunning(running) {
      isRunning = running
      setButton()
    },
  }
}
