/** Functions that run inside a page of WebKit. Each is sent there as source code, and can use nothing from outside. */

/** A CSS selector that also looks into open shadow roots, `text=Accept`, or `role=button[name="Accept"]`. */
export type DeepQuery = string

/** Whether an element matches a selector whose parts stand anywhere above each other, shadow roots included. */
export function hasMatch(element: Element, selector: string): boolean {
  const parts = selector.trim().split(/\s+(?![^[(]*[\])])/)
  const above = (node: Element): Element | null => {
    const root = node.getRootNode()
    return node.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
  }
  if (!element.matches(parts.pop()!)) return false
  let at = above(element)
  while (parts.length > 0) {
    while (at !== null && !at.matches(parts.at(-1)!)) at = above(at)
    if (at === null) return false
    parts.pop()
    at = above(at)
  }
  return true
}

/** Returns the elements that match, in the order of the document. */
export function findAll(query: DeepQuery, matches: typeof hasMatch): Element[] {
  const all = (root: ParentNode): Element[] =>
    [...root.querySelectorAll('*')].flatMap((each) => [each, ...(each.shadowRoot === null ? [] : all(each.shadowRoot))])
  const visibleText = (element: Element): string =>
    ((element as HTMLElement).innerText || (element as HTMLInputElement).value || '').replace(/\s+/g, ' ').trim()
  const elements = all(document)
  const text = /^text=["']?(.*?)["']?$/.exec(query)?.[1]?.toLowerCase()
  if (text !== undefined) {
    const found = elements.filter((each) => visibleText(each).toLowerCase().includes(text))
    return found.filter((each) => !found.some((inner) => inner !== each && each.contains(inner)))
  }
  const role = /^role=([\w-]+)(?:\[name=["'](.*)["']\])?$/.exec(query)
  if (role !== null) {
    const roles: Record<string, string> = {
      button: 'button,input[type=button],input[type=submit],summary',
      link: 'a[href]',
      textbox:
        'textarea,input:not([type]),input[type=text],input[type=search],input[type=email],[contenteditable=true]',
      checkbox: 'input[type=checkbox]',
      radio: 'input[type=radio]',
      combobox: 'select',
      heading: 'h1,h2,h3,h4,h5,h6',
    }
    const [, wanted = '', name] = role
    const own = roles[wanted]
    const accessibleName = (element: Element): string =>
      element.getAttribute('aria-label') ??
      (element as HTMLInputElement).labels?.[0]?.innerText ??
      (visibleText(element) || element.getAttribute('title') || '')
    return elements.filter(
      (each) =>
        (each.getAttribute('role') === wanted ||
          (own !== undefined && !each.hasAttribute('role') && each.matches(own))) &&
        (name === undefined || accessibleName(each).toLowerCase().includes(name.toLowerCase())),
    )
  }
  const selectors = query.split(/,(?![^[(]*[\])])/)
  return elements.filter((each) => selectors.some((selector) => matches(each, selector)))
}

/** Scrolls an element into view if it is out of it, and returns where it is. */
export function areaInView(element: Element): { x: number; y: number; width: number; height: number } {
  const at = () => element.getBoundingClientRect()
  if (at().top < 0 || at().bottom > innerHeight) element.scrollIntoView({ block: 'center', behavior: 'instant' })
  const { x, y, width, height } = at()
  return { x, y, width, height }
}

/** Runs before the page's own scripts: keeps what goes to the console, which WebDriver does not show. */
export function keepConsole(): void {
  const key = Symbol.for('svc.console')
  const list: { type: string; text: string; stack: string }[] = []
  Object.defineProperty(window, key, { value: list })
  Object.defineProperty(window, Symbol.for('svc.later'), { value: window.setTimeout.bind(window) })
  const keep = (type: string, text: string, stack = ''): void => {
    if (list.length < 1_000) list.push({ type, text, stack })
  }
  const { console: page } = window
  for (const name of ['error', 'warn', 'log', 'info', 'debug'] as const) {
    const own = page[name].bind(page)
    page[name] = (...values: unknown[]) => {
      keep(name === 'warn' ? 'warning' : name, values.map(String).join(' '), new Error(name).stack)
      own(...values)
    }
  }
  addEventListener('error', ({ message, error }) => {
    if (message !== undefined)
      keep('pageerror', (error as Error | null)?.message ?? message, (error as Error | null)?.stack)
  })
  addEventListener('unhandledrejection', ({ reason }) =>
    keep('pageerror', (reason as Error | null)?.message ?? String(reason), (reason as Error | null)?.stack),
  )
  document.addEventListener('securitypolicyviolation', ({ blockedURI, effectiveDirective }) =>
    keep('error', `Refused to load ${blockedURI}: the policy of the page limits ${effectiveDirective}.`),
  )
}
