/** What there is to see on a host page: what `expect.body` of a browser or page step looks at. */
import type { JsonValue } from '../json.ts'
import type { HostPage, PageEvent } from './host-page.ts'

/** The renderer as the page knows it; its types are those of the browser code, which this side does not import. */
interface RendererWindow {
  SponsoredPlacement?: { getEvents(): PageEvent[]; state(): { occupied: number; turns: { state: string }[] } }
}

/** Looks at the page as it is now. */
export async function observe(host: HostPage): Promise<JsonValue> {
  const { page, requests } = host
  const seen = await page.evaluate(lookAround)
  const { events } = seen
  const beacons = events.filter(({ type }) => type === 'beacon')
  const codesOf = (type: string, member: string) =>
    events.filter((event) => event.type === type).map((event) => event[member])
  return {
    ...seen,
    slot_id: events.findLast(({ slot_id }) => typeof slot_id === 'string')?.slot_id ?? null,
    events: events.map(({ type }) => type),
    log: events,
    errors: codesOf('error', 'code'),
    blocked: codesOf('blocked', 'reason'),
    cleared: codesOf('cleared', 'reason'),
    beacons: beacons.map(({ event, accepted, reason_code }) => ({ event, accepted, reason_code })),
    counted: beacons
      .filter(({ accepted, event }) => accepted === true && event !== 'heartbeat')
      .map(({ event }) => event),
    tries: triesOf(requests),
    requests: requests.map(({ method, path, status }) => ({ method, path, status })),
    served: [...host.served],
    console_errors: [...host.console_errors],
    console_warnings: [...host.console_warnings],
    landings: [...host.landings],
  } as unknown as JsonValue
}

/** The statuses that the beacons of each event got, try by try; 0 where no answer came. */
function triesOf(requests: HostPage['requests']): Record<string, number[]> {
  const tries: Record<string, number[]> = {}
  for (const { event, status } of requests) {
    if (event === null) continue
    tries[event] ??= []
    tries[event].push(status)
  }
  return tries
}

/** Runs in the page. */
function lookAround() {
  const { SponsoredPlacement: renderer } = window as unknown as RendererWindow
  const slot = document.querySelector('#slot')
  const label = slot?.querySelector<HTMLElement>('[data-sp-label]') ?? null
  const frame = slot?.querySelector('iframe') ?? null
  const size = (element: Element) => {
    const { width, height } = element.getBoundingClientRect()
    return { width: Math.round(width), height: Math.round(height) }
  }
  const isShown = (element: HTMLElement) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  const state = renderer?.state()
  return {
    events: renderer?.getEvents() ?? [],
    turn: state?.turns.at(-1)?.state ?? null,
    occupied: state?.occupied ?? 0,
    slot:
      slot === null
        ? null
        : { frames: slot.querySelectorAll('iframe').length, is_empty: slot.childElementCount === 0, ...size(slot) },
    label:
      label === null
        ? null
        : {
            text: label.innerText,
            is_shown: isShown(label),
            is_above: frame !== null && label.getBoundingClientRect().bottom <= frame.getBoundingClientRect().top,
            ...size(label),
          },
    labels: slot?.querySelectorAll('[data-sp-label]').length ?? 0,
    frame:
      frame === null
        ? null
        : {
            title: frame.title,
            sandbox: frame.getAttribute('sandbox'),
            allow: frame.allow,
            referrer_policy: frame.referrerPolicy,
            ...size(frame),
          },
  }
}
