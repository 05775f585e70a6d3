/**
 * Functions that run inside the page before its own scripts, as extensions and browsers do. Each is sent there as source code,
 * and can use nothing from outside.
 */
import type { ReportedError } from '#contract/words/renderer-errors.ts'

/** What the page's policies blocked, and its uncaught errors. */
interface Trouble {
  violations: { directive: string; blocked: string; place: string; sample: string }[]
  errors: string[]
}

interface TroubledWindow {
  svcTrouble?: Trouble
}

/** Records what is blocked by a policy, and uncaught errors, with their line. */
export function recordTrouble(): void {
  const trouble: Trouble = { violations: [], errors: [] }
  ;(window as TroubledWindow).svcTrouble = trouble
  document.addEventListener('securitypolicyviolation', (event) => {
    if (event.disposition !== 'enforce') return
    const place = event.sourceFile === '' ? '' : `${event.sourceFile}:${event.lineNumber}`
    const directive = event.effectiveDirective
    trouble.violations.push({ directive, blocked: event.blockedURI, place, sample: event.sample })
  })
  window.addEventListener('error', ({ message, filename, lineno }) => {
    if (message) trouble.errors.push(filename === '' ? message : `${message} (${filename}:${lineno})`)
  })
  window.addEventListener('unhandledrejection', ({ reason }) => {
    trouble.errors.push(reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason))
  })
}

/** Stamps an attribute on every div, as security extensions do. */
export function stampAttributes(): void {
  const stamp = (node: Node) => {
    if (!(node instanceof Element)) return
    for (const each of [node, ...node.querySelectorAll('div')]) {
      if (each.localName === 'div') each.setAttribute('bis_skin_checked', '1')
    }
  }
  new MutationObserver((list) => {
    for (const { addedNodes } of list) addedNodes.forEach(stamp)
  }).observe(document, { childList: true, subtree: true })
}

/** Gives every element dark colours, marks inline styles, and repeats it on each change, as dark modes do. */
export function forceDark(): void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(
    'html, body, :not(img, video, iframe, canvas) { background-color: #181a1b !important; color: #e8e6e3 !important; border-color: #736b5e !important }',
  )
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  const mark = (node: Node) => {
    if (!(node instanceof Element)) return
    for (const each of [node, ...node.querySelectorAll<HTMLElement>('[style]')] as HTMLElement[]) {
      if (each.style === undefined || !each.hasAttribute('style') || each.dataset.darkreaderInlineBgcolor === '')
        continue
      each.dataset.darkreaderInlineBgcolor = ''
      each.style.setProperty('--darkreader-inline-bgcolor', '#181a1b')
    }
  }
  new MutationObserver((list) => {
    for (const { addedNodes, target } of list) for (const each of [...addedNodes, target]) mark(each)
  }).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ['style'] })
}

/** Wraps every text in `<font>` elements and changes the language, as the translation of a browser does. */
export function translate(): void {
  const skipped = new Set(['SCRIPT', 'STYLE', 'TEXTAREA', 'FONT', 'NOSCRIPT', 'TITLE'])
  const translateIn = (root: Node) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
    const texts: Text[] = []
    while (walker.nextNode()) if (walker.currentNode instanceof Text) texts.push(walker.currentNode)
    for (const text of texts) {
      if (text.data.trim() === '' || text.parentElement === null || skipped.has(text.parentElement.tagName)) continue
      const outer = document.createElement('font')
      const inner = document.createElement('font')
      inner.style.verticalAlign = 'inherit'
      inner.textContent = `${text.data} ~`
      outer.append(inner)
      text.replaceWith(outer)
    }
  }
  document.addEventListener('DOMContentLoaded', () => {
    document.documentElement.lang = 'de'
    document.documentElement.classList.add('translated-ltr')
    translateIn(document.body)
    new MutationObserver((list) => {
      for (const { addedNodes } of list) for (const node of addedNodes) if (node.isConnected) translateIn(node)
    }).observe(document.body, { childList: true, subtree: true })
  })
}

/** Takes away what an in-app browser lacks: windows, and storage where the app did not enable it. */
export function limitToWebView(): void {
  window.open = () => null
  for (const name of ['localStorage', 'sessionStorage'] as const) {
    Object.defineProperty(window, name, { configurable: true, get: () => null })
  }
  Reflect.deleteProperty(Navigator.prototype, 'serviceWorker')
}

/** Hides what the cosmetic filters of a list name. */
export function hideElements(styles: string): void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(styles)
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
}

/** An event of render.js, as plain data. */
export interface HostEvent extends Partial<ReportedError> {
  type: string
  reason?: string
  no_fill_reason?: string
  event?: string
  accepted?: boolean
  slot_id?: string
}

/** What a document of the page has now. */
export interface HostLook extends Trouble {
  has_renderer: boolean
  events: HostEvent[]
  /** Hosted frames, also those in open shadow roots. */
  frames: { src: string; is_shown: boolean; size: string }[]
  has_label: boolean
  ids: string[]
  classes: string[]
}

/** Returns the current state of a document of the page. */
export function lookAtHost(bases: readonly string[]): HostLook {
  interface Rendering {
    getEvents(): HostEvent[]
  }
  const { svcTrouble, SponsoredPlacement } = window as TroubledWindow & { SponsoredPlacement?: Partial<Rendering> }
  const all = (root: ParentNode): Element[] =>
    [...root.querySelectorAll('*')].flatMap((each) => [each, ...(each.shadowRoot ? all(each.shadowRoot) : [])])
  const elements = all(document)
  const isShown = (element: Element) => {
    const { width, height } = element.getBoundingClientRect()
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && width > 1 && height > 1
  }
  const frames = elements.filter(
    (each): each is HTMLIFrameElement =>
      each instanceof HTMLIFrameElement && bases.some((base) => each.src.startsWith(`${base}/v1/render/`)),
  )
  return {
    violations: svcTrouble?.violations ?? [],
    errors: svcTrouble?.errors ?? [],
    has_renderer: typeof SponsoredPlacement?.getEvents === 'function',
    events: SponsoredPlacement?.getEvents?.() ?? [],
    frames: frames.map((frame) => {
      const { width, height } = frame.getBoundingClientRect()
      return { src: frame.src, is_shown: isShown(frame), size: `${Math.round(width)} × ${Math.round(height)}` }
    }),
    has_label: elements.some((each) => each.matches('[data-sp-label]') && isShown(each)),
    ids: elements.map(({ id }) => id).filter((id) => id !== ''),
    classes: [...new Set(elements.flatMap((each) => [...each.classList]))],
  }
}
