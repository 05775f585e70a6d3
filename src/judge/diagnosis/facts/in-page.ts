/**
 * Functions that run inside the integrator's page. Each is sent there as source code, and can use nothing from outside.
 */
import type { ReportedBlock, ReportedError } from '#contract/words/renderer-errors.ts'

/** Events recorded in the page until they are read from outside. */
interface Records {
  shifts: { at: number; value: number }[]
  changes: number[]
  blocked: Blocked[]
}
/** What a policy of the page blocks; a report-only policy lets it pass. */
export interface Blocked {
  url: string
  why: string
  is_enforced: boolean
}
interface RecordingWindow {
  /** The number of elements that have an id so far. */
  svcElements?: number
  /** The identifiers of the elements that ads were mounted in. */
  svcTargets?: WeakMap<Element, string>
  /** When an ad was first seen rendered without a response to any of its beacons, by the id of its mount. */
  svcUnanswered?: Map<string, number>
  /** Measures how much of each ad can be seen; the share is in `data-svc-share` of its frame. */
  svcSeen?: IntersectionObserver
  svcRecords?: Records
  /** Without `getEvents` it is the stub of the page, which waits for render.js. */
  SponsoredPlacement?: { getEvents?(): RendererEvent[]; queue?: { length?: number } }
}

/** The fields that are read from a render.js event. */
interface RendererEvent extends Partial<ReportedError>, Partial<ReportedBlock> {
  type: string
  at_ms: number
  turn_id?: string
  slot_id?: string
  instance_id?: string
  event?: string
}

/**
 * An `error` or `blocked` event of render.js, a `beacon` that the browser did not let through, an ad that was `cleared`
 * before it was seen, or a turn that the page `cancelled` before its ad was seen.
 */
export interface RendererError {
  type: 'error' | 'blocked' | 'beacon' | 'cleared' | 'cancelled'
  /** The code of the error, the reason of the block or of clearing it, or the event of the beacon. */
  code: string
  /** The detail of the event in addition to its code, such as `http_404`; null for none. */
  detail: string | null
  /** Of an `error`: the event. */
  reported?: ReportedError
  /** Of a `blocked`: the event. */
  block?: ReportedBlock
}

interface FrameLook {
  src: string
  element: string
  width: number
  height: number
  hidden_by: string | null
  clipped_by: string | null
  /** The element that lies over its middle; null when none does, or its middle is outside the window. */
  covered_by: string | null
  shared_id: string | null
  /** Whether render.js has mounted it: no other frame shows anything. */
  is_drawn: boolean
  /** Identifies the element that the ad was mounted in. */
  target: string
  /** The text around it, of the message that it belongs to; null when there is none nearby. */
  text: string | null
  /**
   * The share of it that is inside the window and not cut off by anything around it, 0 to 1; null: not measured yet.
   */
  seen_share: number | null
  label: string | null
}

export interface PageLook {
  /** Identifies the document: a navigation changes it. */
  document: string
  frames: FrameLook[]
  blocked: Records['blocked']
  renderer_errors: RendererError[]
  /** Whether render.js is loaded but was never called. */
  is_idle: boolean
  /** Whether a turn was finished before anything came of it. */
  has_early_end: boolean
  /** Turns in the stub of the page that wait for render.js. */
  waiting_turns: number
  /** Null: the browser does not measure it. */
  shift: number | null
}

/** Runs before the page's own scripts: records layout shifts, changes of ads, and what a policy blocks. */
export function recordFromStart(bases: readonly string[]): void {
  if (bases.some((base) => location.href.startsWith(base))) return
  const records: Records = { shifts: [], changes: [], blocked: [] }
  ;(window as RecordingWindow).svcRecords = records
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]) {
      if (!entry.hadRecentInput) records.shifts.push({ at: entry.startTime, value: entry.value })
    }
  }).observe({ type: 'layout-shift', buffered: true })
  const isAd = (node: Node) =>
    node instanceof Element &&
    [node, ...node.querySelectorAll('iframe, [data-sp-placement]')].some(
      (each) =>
        each.matches('[data-sp-placement]') ||
        (each instanceof HTMLIFrameElement && bases.some((base) => each.src.startsWith(`${base}/v1/render/`))),
    )
  const observer = new MutationObserver((mutations) => {
    const isChange = mutations.some(({ target, addedNodes, removedNodes }) =>
      [...addedNodes, ...removedNodes, target].some(isAd),
    )
    if (isChange) records.changes.push(window.performance.now())
    // render.js draws into a shadow root, which changes its size by itself.
    for (const { addedNodes } of mutations) {
      for (const node of addedNodes) {
        if (!(node instanceof Element)) continue
        for (const each of [node, ...node.querySelectorAll('[data-sp-placement]')]) {
          if (each.shadowRoot) observer.observe(each.shadowRoot, changes)
        }
      }
    }
  })
  const changes = { childList: true, subtree: true, attributes: true, attributeFilter: ['style', 'height'] }
  observer.observe(document, changes)
  document.addEventListener('securitypolicyviolation', ({ blockedURI, effectiveDirective, disposition }) => {
    if (!bases.some((base) => blockedURI.startsWith(base))) return
    const is_enforced = disposition === 'enforce'
    const why = `${effectiveDirective} of ${is_enforced ? 'the page' : 'a report-only policy'}`
    records.blocked.push({ url: blockedURI, why, is_enforced })
  })
}

/** Returns the current state of the page. */
export function inspectPage(bases: readonly string[]): PageLook {
  const adWords = /\b(ad|ads|advert|advertisement|sponsored|promoted|anzeige|werbung|publicité|annonce|anuncio)\b/i
  const isShown = (element: Element) => {
    const { width, height } = element.getBoundingClientRect()
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && width > 0 && height > 0
  }
  /** Returns its parent element, even across a shadow root boundary. */
  const composedParent = (element: Element) => {
    const root = element.getRootNode()
    return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
  }
  /** Returns the elements below a root, those of open shadow roots too. */
  const within = (root: ParentNode): Element[] =>
    [...root.querySelectorAll('*')].flatMap((each) => [
      each,
      ...(each.shadowRoot === null ? [] : within(each.shadowRoot)),
    ])
  const findLabel = (frame: Element) => {
    let around: Element | null = frame
    for (let level = 0; level < 3 && around !== null && around !== document.body; level++) {
      around = composedParent(around)
      if (around === null || around === document.body) break
      const inside = [...(around.shadowRoot === null ? [] : within(around.shadowRoot)), ...within(around)]
      const found = (inside as HTMLElement[]).find(
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
  const describeElement = (element: Element) =>
    element.id === '' ? [element.localName, ...element.classList].join('.') : `${element.localName}#${element.id}`
  /** Returns the style that hides it and the element that has it, or null. */
  const hiddenBy = (frame: Element) => {
    if (frame.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return null
    for (let at: Element | null = frame; at !== null; at = composedParent(at)) {
      const { display, opacity } = getComputedStyle(at)
      const above = composedParent(at)
      const isFirst = above === null || getComputedStyle(above).visibility === 'visible'
      if (display === 'none') return `display: none of ${describeElement(at)}`
      if (Number(opacity) === 0) return `opacity: 0 of ${describeElement(at)}`
      if (getComputedStyle(at).visibility !== 'visible' && isFirst)
        return `visibility: hidden of ${describeElement(at)}`
    }
    return 'a style'
  }
  /** Returns the nearest element around it that cuts off half of it or more, or null. */
  const clippedBy = (frame: Element) => {
    const { left, right, top, bottom, width, height } = frame.getBoundingClientRect()
    for (
      let around = composedParent(frame);
      around !== null && around !== document.body;
      around = composedParent(around)
    ) {
      const { overflowX, overflowY } = getComputedStyle(around)
      const box = around.getBoundingClientRect()
      const cut = (overflow: string, room: number, size: number, rest: number) =>
        overflow === 'visible' ? size : /auto|scroll/.test(overflow) ? Math.min(room, size) : Math.max(0, rest)
      const seenWidth = cut(overflowX, box.width, width, Math.min(right, box.right) - Math.max(left, box.left))
      const seenHeight = cut(overflowY, box.height, height, Math.min(bottom, box.bottom) - Math.max(top, box.top))
      if (seenWidth * seenHeight >= (width * height) / 2) continue
      return `${describeElement(around)} of ${Math.round(box.width)} × ${Math.round(box.height)} pixels`
    }
    return null
  }
  /** Returns the element that lies over the middle of an ad, or null. */
  const coveredBy = (frame: Element) => {
    const { left, top, width, height } = frame.getBoundingClientRect()
    let at: Element | null = null
    for (let root: Document | ShadowRoot = document; ; root = at.shadowRoot) {
      const hit: Element | null = root.elementFromPoint(left + width / 2, top + height / 2)
      if (hit === null || hit === at) return null
      at = hit
      if (at.shadowRoot === null) break
    }
    for (let around: Element | null = frame; around !== null; around = composedParent(around)) {
      if (around === at) return null
    }
    return drawnElement(frame).contains(at) ? null : describeElement(at)
  }
  /** Returns the id of an element around it that another, empty element has too, or null. */
  const sharedId = (frame: Element) => {
    for (
      let around = composedParent(frame);
      around !== null && around !== document.body;
      around = composedParent(around)
    ) {
      if (around.id === '') continue
      const others = [...document.querySelectorAll(`[id="${CSS.escape(around.id)}"]`)].filter((each) => each !== around)
      if (others.some((each) => each.childElementCount === 0 && each.textContent.trim() === '')) return around.id
    }
    return null
  }
  /** Returns what render.js has drawn for an ad, or the frame itself without it. */
  const drawnElement = (frame: Element) => {
    let at: Element | null = frame
    while (at !== null && !at.matches('[data-sp-placement]')) at = composedParent(at)
    return at ?? frame
  }
  /** Identifies the element that an ad was mounted in. */
  const findTarget = (frame: Element) => {
    const target = composedParent(drawnElement(frame)) ?? document.body
    counting.svcTargets ??= new WeakMap()
    const known = counting.svcTargets.get(target)
    if (known !== undefined) return known
    counting.svcElements = (counting.svcElements ?? 0) + 1
    const id = `${performance.timeOrigin}-${counting.svcElements}`
    counting.svcTargets.set(target, id)
    return id
  }
  /** Returns the text of the nearest element around an ad that has some: shorter text is a time or a name, longer a whole page. */
  const textAround = (frame: Element) => {
    const own = drawnElement(frame).textContent
    for (let at = composedParent(drawnElement(frame)); at !== null && at !== document.body; at = composedParent(at)) {
      const text = at.textContent.replace(own, '').replace(/\s+/g, ' ').trim()
      if (text.length > 2_000) return null
      if (text.length >= 20) return text
    }
    return null
  }
  /** Returns the beacons of ads that were rendered some seconds ago and have no response yet: render.js retries for minutes. */
  const unanswered = (events: readonly RendererEvent[]): RendererError[] => {
    counting.svcUnanswered ??= new Map()
    const since = counting.svcUnanswered
    return events.flatMap(({ type, instance_id: id }): RendererError[] => {
      if (type !== 'rendered' || id === undefined) return []
      if (events.some((each) => each.instance_id === id && /beacon|error|blocked/.test(each.type))) return []
      if (!since.has(id)) since.set(id, window.performance.now())
      const isLate = window.performance.now() - since.get(id)! > 2_500
      return isLate ? [{ type: 'beacon', code: 'render', detail: 'network_error' }] : []
    })
  }
  /** Returns what render.js reports about ads that did not become impressions. */
  const errorsIn = (events: readonly RendererEvent[]): RendererError[] => {
    const isShownAtAll = events.some(({ type }) => type === 'rendered')
    return events.flatMap((event): RendererError[] => {
      const { type, code = 'unknown', reason, reason_code = null } = event
      const detail = reason_code
      if (type === 'error') return [{ type, code, detail, reported: { ...event, code } }]
      if (type === 'blocked')
        return [{ type, code: reason ?? 'unknown', detail, block: { ...event, reason: reason ?? '' } }]
      if (type === 'beacon' && /^(network_error|csp_blocked|response_not_from_service)$/.test(reason_code ?? ''))
        return [{ type, code: event.event ?? 'unknown', detail }]
      if (type === 'turn:cancelled' && !isShownAtAll) return [{ type: 'cancelled', code: 'cancelled', detail: null }]
      const own = events.filter(({ instance_id }) => instance_id === event.instance_id)
      const rendered = own.find((each) => each.type === 'rendered')
      // An ad that was mounted again is not lost yet.
      const isBack = own.some((each) => each.type === 'rendered' && events.indexOf(each) > events.indexOf(event))
      const isExplained = isBack || own.some((each) => ['visible', 'error', 'blocked'].includes(each.type))
      if (type !== 'cleared' || isExplained) return []
      // Before it is drawn, an ad may also end with a fast answer, or with its turn.
      if (rendered === undefined && reason !== 'target_removed') return []
      const shown = rendered === undefined ? '' : ` after ${((event.at_ms - rendered.at_ms) / 1_000).toFixed(1)} s`
      return [{ type, code: reason ?? 'unknown', detail: `${event.slot_id ?? 'an unknown slot'}${shown}` }]
    })
  }
  const frames = within(document)
    .filter((each) => each instanceof HTMLIFrameElement)
    .filter(({ src }) => bases.some((base) => src.startsWith(`${base}/v1/render/`)))
  const counting = window as RecordingWindow
  const { svcRecords: records, SponsoredPlacement: renderer } = counting
  const events = renderer?.getEvents?.() ?? []
  const shifts = (records?.shifts ?? []).filter(({ at }) =>
    (records?.changes ?? []).some((change) => at >= change - 50 && at <= change + 600),
  )
  return {
    document: String(performance.timeOrigin),
    frames: frames.map((frame) => {
      if (frame.dataset.svcElement === undefined) {
        counting.svcElements = (counting.svcElements ?? 0) + 1
        frame.dataset.svcElement = `${performance.timeOrigin}-${counting.svcElements}`
        counting.svcSeen ??= new IntersectionObserver(
          (entries) => {
            for (const { target, intersectionRatio } of entries) {
              if (target instanceof HTMLElement) target.dataset.svcShare = String(intersectionRatio)
            }
          },
          { threshold: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1] },
        )
        counting.svcSeen.observe(frame)
      }
      const { width, height } = frame.getBoundingClientRect()
      const share = frame.dataset.svcShare
      return {
        src: frame.src,
        element: frame.dataset.svcElement,
        width: Math.round(width),
        height: Math.round(height),
        hidden_by: hiddenBy(frame),
        clipped_by: clippedBy(frame),
        covered_by: coveredBy(frame),
        shared_id: sharedId(frame),
        is_drawn: drawnElement(frame) !== frame,
        target: findTarget(frame),
        text: textAround(frame),
        seen_share: share === undefined ? null : Number(share),
        label: findLabel(frame),
      }
    }),
    blocked: records?.blocked ?? [],
    is_idle: renderer?.getEvents?.().length === 0,
    has_early_end: events.some(
      ({ type, turn_id: id }) =>
        type === 'turn:finished' && events.every((each) => each.turn_id !== id || each.type.startsWith('turn:')),
    ),
    waiting_turns: renderer?.getEvents === undefined ? (renderer?.queue?.length ?? 0) : 0,
    renderer_errors: [...errorsIn(events), ...unanswered(events)],
    shift: PerformanceObserver.supportedEntryTypes.includes('layout-shift')
      ? shifts.reduce((sum, { value }) => sum + value, 0)
      : null,
  }
}

/** Scrolls an ad into the middle of the window, once the page has been looked at as it shows a new ad itself. */
export function bringIntoView(ad: Element): void {
  const { svcAroundAds: recording } = window as { svcAroundAds?: { quiet_until: number } }
  if (window.performance.now() < (recording?.quiet_until ?? 0)) return
  ad.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
}
