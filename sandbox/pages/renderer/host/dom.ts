/** What the renderer needs of the page's elements. */
import { isObject } from '#foundation/json.ts'

/**
 * Returns the element itself, also one of another document, or the first one that a selector matches. Of an id that is not
 * a valid selector, such as `#:r1:` of React's useId, returns the element with that id. Else null.
 */
export function findTarget(target: unknown): Element | null {
  if (isElement(target)) return target
  if (typeof target !== 'string') return null
  try {
    return document.querySelector(target)
  } catch {
    return document.getElementById(target.slice(1))
  }
}

/**
 * Returns what finds a target that a page has drawn again: by its selector or id, else the same element in its place. A turn that has
 * an id is started again by the page itself: a row of a list may show another message by then.
 */
export function rememberTarget(target: unknown, hasTurnId: boolean): () => Element | null {
  const element = isElement(target) ? target : null
  // Never the element: what it returns is kept with the turn, and so would be a row that has left.
  const selector = element?.id ? `#${CSS.escape(element.id)}` : typeof target === 'string' ? target : null
  if (selector) return () => findTarget(selector)
  const around = element?.parentElement
  if (!around || hasTurnId) return () => null
  const [parent, old] = [new WeakRef(around), new WeakRef(element)]
  const index = [...around.children].indexOf(element)
  return () => {
    const again = parent.deref()?.children[index]
    return again?.isConnected && again.isEqualNode(old.deref() ?? null) ? again : null
  }
}

/** Also of another document, where `instanceof` is false. */
function isElement(target: unknown): target is Element {
  return isObject(target) && target.nodeType === 1
}

/** Returns what was passed as a target, for an error: `"#slot"`, `Object {current}`. */
export function describeTarget(target: unknown): string {
  if (typeof target !== 'object' || !target) return typeof target === 'string' ? `"${target}"` : String(target)
  return `${target.constructor?.name} {${Object.keys(target).slice(0, 5)}}`
}

/** Returns 128 random bits as digits. getRandomValues, unlike randomUUID, also works on pages without https. */
export function newId(prefix: string): string {
  return prefix + crypto.getRandomValues(new Uint32Array(4)).join('')
}

/** Sets styles that the page's own rules cannot override. Allowed under a strict CSP. */
export function setStyles(element: HTMLElement, styles: Record<string, string>): void {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value, 'important')
}

/** Returns the parent of an element in the flat tree: across slots and shadow roots. */
export function flatParent(element: Element): Element | null {
  return element.assignedSlot ?? element.parentElement ?? findShadowHost(element)
}

export function findShadowHost(element: Element): Element | null {
  return (element.getRootNode() as Partial<ShadowRoot>).host ?? null
}

/** Whether the page can be seen, and the window of `element` where that is another one, which the page has opened. */
export function isPageVisible(element?: Element): boolean {
  return [document, element?.ownerDocument ?? document].every((page) => page.visibilityState === 'visible')
}

/** Calls `start` now, or when a prerendered page is shown: until then nothing may be requested or counted. */
export function whenActivated(start: () => void): void {
  const page: Document & { prerendering?: boolean } = document
  if (page.prerendering) {
    page.addEventListener('prerenderingchange', start, { once: true })
  } else start()
}

/** Removes what copies of a page, or ads that have left with their target, have left in an element: of all ads, or of one mount. */
export function removeCopies(around: ParentNode, instance_id?: string): void {
  for (const copy of around.querySelectorAll(`[data-sp-placement${instance_id ? `="${instance_id}"` : ''}]`)) {
    if (!copy.shadowRoot?.hasChildNodes()) copy.remove()
  }
}
