/** Elements from HTML templates, icons, and small behaviours that several parts share. */
import { escapeHtml } from '../../src/foundation/html.ts'

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
    place.replaceWith(nodes[i] as Node)
  }
  return template.content.firstElementChild as E
}

export function find<E extends Element = HTMLElement>(parent: ParentNode, selector: string): E {
  return parent.querySelector(selector) as E
}

/** Returns text for screen readers only. */
export function unseen(text: string): HTMLElement {
  return html`<span class="unseen" dir="ltr">${text}</span>`
}

/** Line icons on a grid of 24, drawn for this page. */
const paths = {
  chat: 'M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-7l-4.500 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z',
  code: 'm8 8-4 4 4 4m8-8 4 4-4 4m-2.500-11-3 14',
  image: 'M5 5h14v14H5zm0 10 4-4 4 4 2.500-2.500L19 16M15 9h.010',
  voice: 'M4 10v4m4-7v10m4-13v16m4-13v10m4-7v4',
  agent: 'M5 6h6m-6 6h9m-9 6h5m5.500-1.500 2 2 4-4.500M16 4l4 2-4 2z',
  send: 'M12 19V5m-6 6 6-6 6 6',
  stop: 'M7 7h10v10H7z',
  again: 'M19 12a7 7 0 1 1-2-4.900M19 4v4h-4',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  copy: 'M9 9h10v10H9zM15 9V5H5v10h4',
  open: 'M14 5h5v5m0-5-8 8M11 6H6v12h12v-5',
  share: 'M9.500 14.500 15 9m-4.500-1 2-2a3.500 3.500 0 0 1 5 5l-2 2m-2 3-2 2a3.500 3.500 0 0 1-5-5l2-2',
  light:
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.500v2m0 15v2M2.500 12h2m15 0h2M5.300 5.300l1.400 1.400m10.600 10.600 1.400 1.400m0-13.400-1.400 1.400M6.700 17.300l-1.400 1.400',
  dark: 'M19.500 14A8 8 0 0 1 10 4.500 8 8 0 1 0 19.500 14z',
  system: 'M4 5h16v11H4zM9 20h6m-3-4v4',
  controls: 'M5 8h8m4 0h2M5 16h2m4 0h8M15 6v4m-6 4v4',
  timeline: 'M9 6h11M9 12h11M9 18h11M4.500 6h.010M4.500 12h.010M4.500 18h.010',
  product: 'M4 5h16v14H4zm0 4.500h16M7 7.300h.010',
  file: 'M7 4h7l4 4v12H7zM14 4v4h4',
  search: 'M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zm4.500 10.500L20 20',
  page: 'M6 4h12v16H6zM9 9h6m-6 4h6m-6 4h3',
  table: 'M4 6h16v12H4zm0 4h16M10 10v8',
  terminal: 'M4 5h16v14H4zm3.500 4 3 3-3 3m5 0h4',
  pen: 'm5 19 1-4L16 5l3 3L9 18z',
  mic: 'M12 4a2.500 2.500 0 0 0-2.500 2.500v5a2.500 2.500 0 0 0 5 0v-5A2.500 2.500 0 0 0 12 4zm-6 7.500a6 6 0 0 0 12 0M12 17.500V21',
  chevron: 'm9 6 6 6-6 6',
  shield: 'M12 4l7 2.500V12c0 4-3 7-7 8-4-1-7-4-7-8V6.500z',
} as const

export type IconName = keyof typeof paths

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

/** Keeps the end of growing content in view, unless the reader has scrolled back. */
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
