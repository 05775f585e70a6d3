/** A button that copies a text and says so. */
import { el } from './elements.ts'
import { type IconName, icon } from './icons.ts'

const thanks_ms = 1_200

export function copyButton(text: () => string, label: string, name: IconName = 'copy'): HTMLElement {
  const button = el('button', { type: 'button', class: 'copy', 'aria-label': label, title: label }, icon(name))
  button.addEventListener('click', () => {
    void navigator.clipboard.writeText(text()).then(() => {
      button.replaceChildren(icon('check'))
      setTimeout(() => button.replaceChildren(icon(name)), thanks_ms)
    })
  })
  return button
}
