/**
 * What ads do to the page around them, recorded inside it. Each function is sent there as source code, and can use nothing from
 * outside.
 */

/** An ad that the page took out of a slot that stayed, and that render.js mounted there again. */
interface DroppedAd {
  /** The slot, as a selector. */
  slot: string
  slot_id: string
}

/** An ad that appeared beside the last message of a conversation. */
interface ShownBesideMessage {
  slot_id: string
  /** Whether the last message was in view before it appeared, and once it was painted. */
  was_in_view: boolean
  is_in_view: boolean
  /** The beginning of the message. */
  message: string
}

/** How much of what a user scrolls through is ads. CSS pixels. */
interface AdDensity {
  window_width: number
  content_height: number
  ads_height: number
}

/** An ad that was painted once the answer had ended. */
interface LateAd {
  slot_id: string
  after_ms: number
}

export interface AroundAds {
  dropped: DroppedAd[]
  beside: ShownBesideMessage[]
  late: LateAd[]
  /** Of the longest list or page with an ad; null without an ad. */
  density: AdDensity | null
}

interface AdEvent {
  type: string
  turn_id?: string
  slot_id?: string
  instance_id?: string
  reason?: string
}

/** What is recorded until it is read. */
interface Recording {
  dropped: { id: string; slot: string }[]
  beside: (Omit<ShownBesideMessage, 'slot_id'> & { id: string })[]
  /** When a turn had finished and an ad was first rendered, by its id: the page's clock, since `at_ms` follows corrections. */
  finished: Map<string, number>
  rendered: Map<string, number>
  /** Until then nothing may scroll, milliseconds of the page's clock: where the page itself has scrolled to is looked at. */
  quiet_until: number
}

interface RecordingWindow {
  svcAroundAds?: Recording
  svcScroller?: (ad: Element) => Element
  SponsoredPlacement?: { getEvents?(): AdEvent[] }
}

/** Runs before the page's own scripts. */
export function recordAroundAds(bases: readonly string[]): void {
  if (bases.some((base) => location.href.startsWith(base))) return
  /** An ad has been painted, and its page has scrolled to where it wants to be. */
  const settled_ms = 700
  const recording: Recording = { dropped: [], beside: [], finished: new Map(), rendered: new Map(), quiet_until: 0 }
  const around = (element: Element): Element | null => {
    const root = element.getRootNode()
    return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
  }
  /** Returns what scrolls an ad: the nearest element around it that does, else the page. */
  const findScroller = (ad: Element): Element => {
    for (let at = around(ad); at !== null && at !== document.body; at = around(at)) {
      if (/auto|scroll/.test(getComputedStyle(at).overflowY)) return at
    }
    return document.scrollingElement ?? document.documentElement
  }
  Object.assign(window, { svcAroundAds: recording, svcScroller: findScroller })
  const describe = (element: Element): string =>
    element.id === '' ? [element.localName, ...element.classList].join('.') : `#${element.id}`
  const isNoMessage = (element: Element): boolean =>
    element.matches(
      '[data-sp-placement],script,style,form,textarea,button,nav,footer,header,aside,template,noscript',
    ) || /fixed|sticky/.test(getComputedStyle(element).position)
  /** Returns the last element with text of its own, or null: of a conversation, its last message. */
  const lastMessage = (within: Element): Element | null => {
    for (const child of [...within.children].reverse()) {
      const found = isNoMessage(child) || child.getClientRects().length === 0 ? null : lastMessage(child)
      if (found !== null) return found
    }
    const hasText = [...within.childNodes].some((node) => node.nodeType === 3 && (node.nodeValue ?? '').trim() !== '')
    return hasText ? within : null
  }
  const isInView = (message: Element, scroller: Element): boolean => {
    const { bottom } = message.getBoundingClientRect()
    const box = scroller.getBoundingClientRect()
    const isPage = scroller === document.scrollingElement
    const end = isPage ? innerHeight : Math.min(innerHeight, box.bottom)
    return bottom <= end + 2 && bottom >= (isPage ? 0 : Math.max(0, box.top))
  }
  const watchMessage = (ad: HTMLElement): void => {
    const scroller = findScroller(ad)
    const last = lastMessage(scroller)
    if (last === null) return
    // The page without the ad, whose size is there at once.
    const { scrollTop } = scroller
    const { display } = ad.style
    ad.style.setProperty('display', 'none', 'important')
    const was_in_view = isInView(last, scroller)
    ad.style.setProperty('display', display, 'important')
    scroller.scrollTop = scrollTop
    recording.quiet_until = performance.now() + settled_ms + 100
    setTimeout(() => {
      const message = last.isConnected ? last : lastMessage(scroller)
      if (message === null || !ad.isConnected) return
      const text = (message.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 40)
      const is_in_view = isInView(message, scroller)
      recording.beside.push({ id: ad.dataset.spPlacement ?? '', was_in_view, is_in_view, message: text })
    }, settled_ms)
  }
  const note = (times: Map<string, number>, id: string | undefined): void => {
    if (id !== undefined && !times.has(id)) times.set(id, performance.now())
  }
  setInterval(() => {
    for (const { type, turn_id, instance_id } of (window as RecordingWindow).SponsoredPlacement?.getEvents?.() ?? []) {
      if (type === 'turn:finished') note(recording.finished, turn_id)
      if (type === 'rendered') note(recording.rendered, instance_id)
    }
  }, 100)
  const known = new Set<string>()
  new MutationObserver((mutations) => {
    for (const { target, addedNodes, removedNodes } of mutations) {
      for (const node of removedNodes) {
        if (!(node instanceof HTMLElement && node.dataset.spPlacement) || node.isConnected) continue
        // Of an ad that has left with its slot, render.js itself takes the empty rest out.
        if (!node.shadowRoot?.hasChildNodes()) continue
        if (target.isConnected && target instanceof Element)
          recording.dropped.push({ id: node.dataset.spPlacement, slot: describe(target) })
      }
      for (const node of addedNodes) {
        if (!(node instanceof HTMLElement && node.dataset.spPlacement) || !node.isConnected) continue
        // An ad that comes back with its message is where it was.
        if (!known.has(node.dataset.spPlacement)) watchMessage(node)
        known.add(node.dataset.spPlacement)
      }
    }
  }).observe(document, { childList: true, subtree: true })
}

/** Returns what was recorded so far, and the density now. */
export function readAroundAds(): AroundAds {
  const { svcAroundAds: recording, svcScroller, SponsoredPlacement: api } = window as RecordingWindow
  const events = api?.getEvents?.() ?? []
  const findSlotText = (id: string): string =>
    events.find(({ instance_id }) => instance_id === id)?.slot_id ?? 'an unknown slot'
  /** render.js takes an ad out itself when it is over. */
  const isMountedAgain = (id: string): boolean => {
    const own = events.filter(({ instance_id }) => instance_id === id)
    const cleared = own.findIndex(({ type, reason }) => type === 'cleared' && reason === 'target_removed')
    return cleared >= 0 && own.slice(cleared).some(({ type }) => type === 'rendered')
  }
  const late = [...(recording?.rendered ?? [])].flatMap(([id, rendered_at]): LateAd[] => {
    const turn_id = events.find(({ instance_id }) => instance_id === id)?.turn_id
    const finished_at = recording?.finished.get(turn_id ?? '')
    return finished_at === undefined || rendered_at <= finished_at
      ? []
      : [{ slot_id: findSlotText(id), after_ms: rendered_at - finished_at }]
  })
  const ads = [...document.querySelectorAll<HTMLElement>('[data-sp-placement]')].filter(
    ({ offsetHeight }) => offsetHeight,
  )
  const heights = new Map<Element, number>()
  for (const ad of ads) {
    const scroller = svcScroller?.(ad)
    if (scroller === undefined) continue
    heights.set(scroller, (heights.get(scroller) ?? 0) + ad.offsetHeight)
  }
  const densities = [...heights].map(([scroller, ads_height]): AdDensity => {
    const main = ads[0]?.closest('main,[role=main],article')
    const isPage = scroller === document.scrollingElement
    const content = isPage && main ? main.scrollHeight : scroller.scrollHeight
    return { window_width: innerWidth, content_height: Math.max(content, isPage ? innerHeight : 0), ads_height }
  })
  const share = ({ ads_height, content_height }: AdDensity): number => ads_height / content_height
  return {
    dropped: (recording?.dropped ?? [])
      .filter(({ id }) => isMountedAgain(id))
      .map(({ id, slot }) => ({ slot, slot_id: findSlotText(id) })),
    beside: (recording?.beside ?? []).map(({ id, ...seen }) => ({ slot_id: findSlotText(id), ...seen })),
    late,
    density: densities.sort((one, other) => share(other) - share(one))[0] ?? null,
  }
}
