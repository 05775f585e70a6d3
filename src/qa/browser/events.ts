/** Waiting for events of the renderer, and judging that others did not come. */
import type { JsonValue } from '../json.ts'
import type { Turn } from '../run/turn.ts'
import type { HostPage, PageEvent } from './host-page.ts'
import type { WantedPageEvent } from './schema.ts'

interface Wanted {
  type: string
  /** Members that it must have. */
  members: Record<string, JsonValue>
}

/** Time that is left to tell what was missing, before the step is over, milliseconds. */
const spare_ms = 1_500

export async function waitForEvent(wanted: WantedPageEvent, { page }: HostPage, turn: Turn): Promise<void> {
  const { type, members } = read(wanted)
  const subject = `event ${type}`
  const expected = wanted as JsonValue
  const left_ms = Math.max(0, turn.ends_at_ms - performance.now() - spare_ms)
  const isCome = await page.evaluate(comeInPage, { type, members: members as object, left_ms })
  if (isCome) return turn.check({ subject, passed: true, expected, actual: expected })
  const seen = await seenOn(page)
  const hint = `The renderer did not tell it within ${Math.round(left_ms)} ms.`
  turn.check({ subject, passed: false, expected, actual: seen, hint })
}

export async function noneOf(list: readonly WantedPageEvent[], { page }: HostPage, turn: Turn): Promise<void> {
  const events = await page.evaluate(eventsInPage)
  const seen = events.map(wordsOf)
  for (const wanted of list) {
    const { type, members } = read(wanted)
    const found = events.some(
      (event) => event.type === type && Object.entries(members).every(([name, value]) => event[name] === value),
    )
    const words = wordsOf({ type, ...members })
    turn.check({ subject: `no event ${words}`, passed: !found, expected: `no ${words}`, actual: seen })
  }
}

function read(wanted: WantedPageEvent): Wanted {
  const { type, ...members } = typeof wanted === 'string' ? { type: wanted } : wanted
  return { type, members: members as Wanted['members'] }
}

async function seenOn(page: HostPage['page']): Promise<JsonValue> {
  return (await page.evaluate(eventsInPage)).map(wordsOf)
}

/** `error render_timeout`, `beacon visible rejected: beacon_stale`. */
export function wordsOf(event: PageEvent): string {
  const { type, code, reason, no_fill_reason, event: beacon, accepted, reason_code } = event
  const what = [type, code, reason, no_fill_reason, beacon].filter((word) => typeof word === 'string')
  if (accepted !== undefined) what.push(accepted === true ? 'accepted' : 'rejected:')
  if (accepted === false || (accepted === undefined && typeof reason_code === 'string')) what.push(String(reason_code))
  return what.join(' ')
}

/** Runs in the page. Nothing where render.js has not come. */
function eventsInPage(): PageEvent[] {
  const { SponsoredPlacement: renderer } = window as unknown as { SponsoredPlacement?: { getEvents(): PageEvent[] } }
  return renderer?.getEvents() ?? []
}

/** Runs in the page: resolves as soon as the renderer tells it, or with false when the time is up. */
function comeInPage({ type, members, left_ms }: { type: string; members: object; left_ms: number }): Promise<boolean> {
  const { SponsoredPlacement: renderer } = window as unknown as {
    SponsoredPlacement?: { getEvents(): PageEvent[]; on(type: string, heard: () => void): () => void }
  }
  const isThere = () =>
    (renderer?.getEvents() ?? []).some(
      (event) => event.type === type && Object.entries(members).every(([name, value]) => event[name] === value),
    )
  return new Promise((resolve) => {
    if (isThere()) return resolve(true)
    const off = renderer?.on('*', () => {
      if (isThere()) end(true)
    })
    const timer = setTimeout(() => end(false), left_ms)
    const end = (isCome: boolean) => {
      off?.()
      clearTimeout(timer)
      resolve(isCome)
    }
  })
}
