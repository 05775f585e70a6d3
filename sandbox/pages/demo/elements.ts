/**
 * Elements from HTML templates, icons, text that appears word by word, and small behaviours that several parts share.
 */
import paths from '#fixtures/demo/icons.json' with { type: 'json' }
import { escapeHtml } from '#foundation/html.ts'

type Value = Node | string | number | boolean | null | undefined

/**
 * Returns the element of a template: html`<p class="${name}">${text}</p>`. Text is escaped; elements, and lists of
 * them, are inserted. null, undefined and false insert nothing.
 */
export function html<E extends Element = HTMLElement>(
  strings: TemplateStringsArray,
  ...values: (Value | readonly Value[])[]
): E {
  const nodes: Node[] = []
  const insert = (value: Value): string => {
    if (value === null || value === undefined || value === false) return ''
    if (!(value instanceof Node)) return escapeHtml(String(value))
    nodes.push(value)
    return '<template></template>'
  }
  const template = document.createElement('template')
  template.innerHTML = strings.reduce((text, part, i) => `${text}${[values[i - 1]].flat().map(insert).join('')}${part}`)
  for (const [i, place] of [...template.content.querySelectorAll('template')].entries()) {
    place.replaceWith(nodes[i] ?? '')
  }
  return find<E>(template.content, '*')
}

export function find<E extends Element = HTMLElement>(parent: ParentNode, selector: string): E {
  const element = parent.querySelector<E>(selector)
  if (element === null) throw new Error(`There is no ${selector}.`)
  return element
}

/** Returns text for screen readers only. */
export function unseen(text: string): HTMLElement {
  return html`<span class="unseen" dir="ltr">${text}</span>`
}

export type IconName = keyof typeof paths

/** Returns a line icon of fixtures/demo/icons.json, drawn on a grid of 24. */
export function icon(name: IconName): SVGElement {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${paths[name]}"/></svg>`
}

/** Returns a button that copies a text and confirms it with a check mark. */
export function copyButton(text: () => string, label: string, name: IconName = 'copy'): HTMLElement {
  const button = html`<button type="button" class="copy soft" aria-label="${label}" title="${label}">${icon(name)}</button>`
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text())
    button.replaceChildren(icon('check'))
    setTimeout(() => button.replaceChildren(icon(name)), 1_200)
  })
  return button
}

/** Makes an element a scrolling region that the keyboard can reach. */
export function makeScroller(element: HTMLElement, label: string): void {
  element.classList.add('scroller')
  Object.assign(element, { tabIndex: 0, role: 'region', ariaLabel: label })
}

/** Keeps the end of growing content in view, unless the reader has scrolled up. */
export function stickToEnd(scroller: HTMLElement, content: Element): void {
  const slack_px = 40
  let isFollowing = true
  let top = 0
  scroller.addEventListener('scroll', () => {
    const { scrollTop, clientHeight, scrollHeight } = scroller
    if (scrollTop + clientHeight >= scrollHeight - slack_px) isFollowing = true
    else if (scrollTop < top) isFollowing = false
    top = scrollTop
  })
  const sizes = new ResizeObserver(() => {
    if (isFollowing) scroller.scrollTop = scroller.scrollHeight
  })
  for (const element of [content, scroller]) sizes.observe(element)
}

/** With reduced motion a text appears at once. The turn still takes its time, so that a decision can arrive. */
export const isCalm = matchMedia('(prefers-reduced-motion: reduce)')

/** Resolves after a while. Rejects with the signal's reason when the turn is stopped. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
  })
}

/** Writes `text` into `parent`, a few words at a time; `**strong**` is strong, `` `code` `` is code. */
export async function write(parent: Element, text: string, signal: AbortSignal, word_ms: number): Promise<void> {
  for (const part of text.split(/(\*\*[^*]+\*\*|`[^`]+`)/)) {
    const tag = part.startsWith('**') ? 'strong' : part.startsWith('`') ? 'code' : null
    const home = tag === null ? parent : parent.appendChild(document.createElement(tag))
    const words = part.replaceAll(/\*\*|`/g, '').match(/\S+\s*|\s+/g) ?? []
    const chunk = isCalm.matches ? words.length : 2
    for (let index = 0; index < words.length; index += chunk) {
      home.append(html`<span class="arriving">${words.slice(index, index + chunk).join('')}</span>`)
      await pause(word_ms * chunk, signal)
    }
    for (const span of home.querySelectorAll(':scope > .arriving')) span.replaceWith(...span.childNodes)
    home.normalize()
  }
}
