/** Functions that run inside the integrator's page. Each is sent there as its source, and may use nothing from outside. */

/** What is recorded in the page until it is read from outside. */
interface Records {
  shifts: { at: number; value: number }[]
  changes: number[]
  blocked: { url: string; why: string }[]
}
interface RecordingWindow {
  /** How many elements have an id so far. */
  svcElements?: number
  svcRecords?: Records
  SponsoredPlacement?: { getEvents(): RendererEvent[] }
}

/** The fields that are read of an event of render.js. */
interface RendererEvent {
  type: string
  code?: string
  reason?: string
  reason_code?: string
  message?: string
}

/** An `error` or `blocked` event of render.js. */
export interface RendererError {
  type: 'error' | 'blocked'
  /** The code of the error, or the reason of the block. */
  code: string
  /** What the event says beside its code, as `http_404`; null for nothing. */
  detail: string | null
}

interface FrameLook {
  src: string
  element: string
  width: number
  height: number
  is_shown: boolean
  clipped_by: string | null
  shared_id: string | null
  is_in_view: boolean
  label: string | null
}

export interface PageLook {
  /** Identifies the document: another one after a navigation. */
  document: string
  frames: FrameLook[]
  blocked: Records['blocked']
  renderer_errors: RendererError[]
  shift: number
}

/** Runs before the page's own scripts: records layout shifts, changes of ads, and what a policy blocks. */
export function recordFromStart(bases: readonly string[]): void {
  if (window.top !== window) return
  const records: Records = { shifts: [], changes: [], blocked: [] }
  ;(window as RecordingWindow).svcRecords = records
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]) {
      if (!entry.hadRecentInput) records.shifts.push({ at: entry.startTime, value: entry.value })
    }
  }).observe({ type: 'layout-shift', buffered: true })
  const isAd = (node: Node) =>
    node instanceof Element &&
    [node, ...node.querySelectorAll('iframe')].some(
      (each) => each instanceof HTMLIFrameElement && bases.some((base) => each.src.startsWith(`${base}/v1/render/`)),
    )
  new MutationObserver((mutations) => {
    const isChange = mutations.some(({ target, addedNodes, removedNodes }) =>
      [...addedNodes, ...removedNodes, target].some(isAd),
    )
    if (isChange) records.changes.push(performance.now())
  }).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ['style', 'height'] })
  document.addEventListener('securitypolicyviolation', ({ blockedURI, effectiveDirective }) => {
    if (bases.some((base) => blockedURI.startsWith(base)))
      records.blocked.push({ url: blockedURI, why: `${effectiveDirective} of the page` })
  })
}

/** Returns the present state of the page. */
export function lookAtPage(bases: readonly string[]): PageLook {
  const adWords = /\b(ad|ads|advert|advertisement|sponsored|promoted|anzeige|werbung|publicité|annonce|anuncio)\b/i
  const isShown = (element: Element) => {
    const { width, height } = element.getBoundingClientRect()
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && width > 0 && height > 0
  }
  const labelOf = (frame: Element) => {
    let around: Element | null = frame
    for (let level = 0; level < 3 && around !== null && around !== document.body; level++) {
      around = around.parentElement
      if (around === null || around === document.body) break
      const found = [...around.querySelectorAll<HTMLElement>('[data-sp-label], *')].find(
        (each) =>
          each.tagName !== 'IFRAME' &&
          (each.matches('[data-sp-label]') || each.childElementCount === 0) &&
          isShown(each) &&
          (each.innerText ?? '').length < 120 &&
          adWords.test(each.innerText ?? ''),
      )
      if (found !== undefined) return found.innerText.trim()
    }
    return null
  }
  /** Returns the nearest element around it that cuts off what it holds and has no room itself, or null. */
  const clippedBy = (frame: Element) => {
    for (let around = frame.parentElement; around !== null && around !== document.body; around = around.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(around)
      const { width, height } = around.getBoundingClientRect()
      if (!(overflowX !== 'visible' && width < 10) && !(overflowY !== 'visible' && height < 10)) continue
      const name =
        around.id === '' ? [around.localName, ...around.classList].join('.') : `${around.localName}#${around.id}`
      return `${name} of ${Math.round(width)} × ${Math.round(height)} pixels`
    }
    return null
  }
  /** Returns the id of an element around it that another, empty element has too, or null. */
  const sharedId = (frame: Element) => {
    for (let around = frame.parentElement; around !== null && around !== document.body; around = around.parentElement) {
      if (around.id === '') continue
      const others = [...document.querySelectorAll(`[id="${CSS.escape(around.id)}"]`)].filter((each) => each !== around)
      if (others.some((each) => each.childElementCount === 0 && each.textContent.trim() === '')) return around.id
    }
    return null
  }
  const frames = [...document.querySelectorAll('iframe')].filter(({ src }) =>
    bases.some((base) => src.startsWith(`${base}/v1/render/`)),
  )
  const counting = window as RecordingWindow
  const { svcRecords: records, SponsoredPlacement: renderer } = counting
  const shifts = (records?.shifts ?? []).filter(({ at }) =>
    (records?.changes ?? []).some((change) => at >= change - 50 && at <= change + 600),
  )
  return {
    document: String(performance.timeOrigin),
    frames: frames.map((frame) => {
      if (frame.dataset.svcElement === undefined) {
        counting.svcElements = (counting.svcElements ?? 0) + 1
        frame.dataset.svcElement = `${performance.timeOrigin}-${counting.svcElements}`
      }
      const { top, bottom, left, right, width, height } = frame.getBoundingClientRect()
      const clipped_by = clippedBy(frame)
      const seenWidth = Math.min(right, innerWidth) - Math.max(left, 0)
      const seenHeight = Math.min(bottom, innerHeight) - Math.max(top, 0)
      return {
        src: frame.src,
        element: frame.dataset.svcElement,
        width: Math.round(width),
        height: Math.round(height),
        is_shown: frame.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
        clipped_by,
        shared_id: sharedId(frame),
        is_in_view:
          clipped_by === null && seenWidth > 0 && seenHeight > 0 && seenWidth * seenHeight >= (width * height) / 2,
        label: labelOf(frame),
      }
    }),
    blocked: records?.blocked ?? [],
    renderer_errors: (renderer?.getEvents() ?? []).flatMap(({ type, code, reason, reason_code, message }) =>
      type === 'error' || type === 'blocked'
        ? [{ type, code: code ?? reason ?? 'unknown', detail: reason_code ?? message ?? null }]
        : [],
    ),
    shift: shifts.reduce((sum, { value }) => sum + value, 0),
  }
}

/** Scrolls an ad into the middle of the window. */
export function bringIntoView(element: string): void {
  document
    .querySelector(`iframe[data-svc-element="${element}"]`)
    ?.scrollIntoView({ block: 'center', behavior: 'instant' })
}
