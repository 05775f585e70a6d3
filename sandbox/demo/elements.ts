/** Elements by plain calls. Text only ever arrives as text nodes, styles only from the style sheet. */

type Child = Node | string | null | undefined | false
type Handler = (event: never) => void
export type Attributes = Record<string, string | number | boolean | null | undefined | Handler>

/** `el('button', { class: 'chip', onclick: ask }, 'Ask')`. A boolean attribute is there or not. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  apply(element, attributes)
  element.append(...children.filter(isNode))
  return element
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  apply(element, attributes)
  element.append(...children.filter(isNode))
  return element
}

/** For readers of screens only. */
export function unseen(text: string): HTMLElement {
  return el('span', { class: 'unseen', dir: 'ltr' }, text)
}

function apply(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (typeof value === 'function') element.addEventListener(name.replace(/^on/, ''), value as EventListener)
    else element.setAttribute(name, value === true ? '' : String(value))
  }
}

function isNode(child: Child): child is Node | string {
  return child !== null && child !== undefined && child !== false
}
