/** What there is to see on a host page: what `expect.body` of a browser or page step looks at. */
import type { JsonValue } from '../json.ts'
import type { HostPage, PageEvent } from './host-page.ts'

/** The renderer as the page knows it; its types are those of the browser code, which this side does not import. */
interface RendererWindow {
  SponsoredPlacement?: { getEvents(): PageEvent[]; version: string }
}

/** Looks at the page as it is now. */
export async function observe({ page, requests, console_errors, landings }: HostPage): Promise<JsonValue> {
  const seen = await page.evaluate(lookAround)
  const { events } = seen
  return {
    ...seen,
    slot_id: events.findLast(({ slot_id }) => typeof slot_id === 'string')?.slot_id ?? null,
    events: events.map(({ type }) => type),
    log: events,
    beacons: events
      .filter(({ type }) => type === 'beacon')
      .map(({ event, accepted, reason_code }) => ({ event, accepted, reason_code })),
    requests: requests.map(({ method, path, status }) => ({ method, path, status })),
    console_errors: [...console_errors],
    landings: [...landings],
  } as unknown as JsonValue
}

/** Runs in the page. */
function lookAround() {
  const { SponsoredPlacement: renderer } = window as unknown as RendererWindow
  const slot = document.querySelector('#slot')!
  const label = slot.querySelector<HTMLElement>('[data-sp-label]')
  const frame = slot.querySelector('iframe')
  const size = (element: Element) => {
    const { width, height } = element.getBoundingClientRect()
    return { width: Math.round(width), height: Math.round(height) }
  }
  const isShown = (element: HTMLElement) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  return {
    events: renderer?.getEvents() ?? [],
    slot: { frames: slot.querySelectorAll('iframe').length, is_empty: slot.childElementCount === 0, ...size(slot) },
    label:
      label === null
        ? null
        : {
            text: label.innerText,
            is_shown: isShown(label),
            is_above: frame !== null && label.getBoundingClientRect().bottom <= frame.getBoundingClientRect().top,
            ...size(label),
          },
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
