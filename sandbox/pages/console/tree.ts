/**
 * The console's elements as data, and the elements made to match them: what has not changed is not touched, so focus, selection
 * and scroll positions stay. Nothing is parsed as HTML: pages with Trusted Types allow it.
 */
import demoPaths from '#fixtures/demo/icons.json' with { type: 'json' }

export interface Branch {
  tag: string
  /** Names with `--` are custom properties: a strict policy forbids style attributes. */
  attributes: Readonly<Record<string, string>>
  children: readonly (Branch | string)[]
}

/** null, undefined and false are left out. */
type Given = Branch | string | null | undefined | false

/** Returns an element as data. Attributes that are null or false are left out, true is an empty one. */
export function draw(
  tag: string,
  attributes: Readonly<Record<string, string | boolean | null | undefined>> = {},
  ...children: readonly (Given | readonly Given[])[]
): Branch {
  const entries = Object.entries(attributes).flatMap(([name, value]) =>
    value === null || value === undefined || value === false ? [] : [[name, value === true ? '' : value] as const],
  )
  const isThere = (child: Given): child is Branch | string => (typeof child === 'object' ? child !== null : !!child)
  return { tag, attributes: Object.fromEntries(entries), children: children.flat().filter(isThere) }
}

const paths = {
  ...demoPaths,
  close: 'm6 6 12 12M18 6 6 18',
  down: 'm6 9 6 6 6-6',
  up: 'm6 15 6-6 6 6',
  move: 'M9 6h.010M15 6h.010M9 12h.010M15 12h.010M9 18h.010M15 18h.010',
}

/** Returns a line icon, on a grid of 24. */
export function drawIcon(name: keyof typeof paths): Branch {
  return draw('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, draw('path', { d: paths[name] }))
}

/** Makes the children of an element match. An element with the same tag and `data-key` at a place is kept. */
export function patchChildren(parent: Element, wanted: readonly (Branch | string)[]): void {
  for (const [index, child] of wanted.entries()) {
    const present = parent.childNodes[index]
    if (present !== undefined && matches(present, child)) patch(present, child)
    else {
      const later = findKept(parent, index + 1, child)
      const node = later ?? create(child)
      parent.insertBefore(node, present ?? null)
      if (later !== undefined) patch(later, child)
    }
  }
  while (parent.childNodes.length > wanted.length) parent.lastChild!.remove()
}

/** Returns a later child with the key that is wanted here. */
function findKept(parent: Element, from: number, wanted: Branch | string): ChildNode | undefined {
  if (typeof wanted === 'string' || wanted.attributes['data-key'] === undefined) return undefined
  return [...parent.childNodes].slice(from).find((node) => matches(node, wanted))
}

function matches(node: Node, wanted: Branch | string): boolean {
  if (typeof wanted === 'string') return node instanceof Text
  return (
    node instanceof Element &&
    node.localName === wanted.tag &&
    node.getAttribute('data-key') === (wanted.attributes['data-key'] ?? null)
  )
}

function patch(node: Node, wanted: Branch | string): void {
  if (typeof wanted === 'string') {
    if (node.textContent !== wanted) node.textContent = wanted
    return
  }
  if (!(node instanceof Element)) return
  patchAttributes(node, wanted.attributes)
  patchChildren(node, wanted.children)
}

function patchAttributes(element: Element, wanted: Branch['attributes']): void {
  // The attribute says what was selected at first.
  if (element instanceof HTMLOptionElement && element.selected !== (wanted.selected !== undefined))
    element.selected = wanted.selected !== undefined
  for (const { name } of [...element.attributes]) {
    if (wanted[name] === undefined && name !== 'style') element.removeAttribute(name)
  }
  for (const [name, value] of Object.entries(wanted)) {
    if (name.startsWith('--')) {
      if (element instanceof HTMLElement) element.style.setProperty(name, value)
    } else if (element.getAttribute(name) !== value) element.setAttribute(name, value)
  }
}

function create(wanted: Branch | string): ChildNode {
  if (typeof wanted === 'string') return new Text(wanted)
  const isDrawing = wanted.tag === 'svg' || wanted.tag === 'path'
  const element = isDrawing
    ? document.createElementNS('http://www.w3.org/2000/svg', wanted.tag)
    : document.createElement(wanted.tag)
  patch(element, wanted)
  return element
}
