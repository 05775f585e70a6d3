/**
 * Why an ad does not show or does not count: the first cause that the sighting proves, from the outside in, each with the line
 * that is missing. A cause that is further out explains those that follow from it.
 */
import { describeRendererError } from '#contract/words/renderer-errors.ts'
import { withoutQuery } from '#foundation/http.ts'
import { type Condition, shellOrigin } from './conditions.ts'
import type { HostEvent } from './content-scripts.ts'
import { countsView, type Sighting } from './observe.ts'
import type { SeenRequest } from './passthrough.ts'

interface Cause {
  /** What happened, one sentence. */
  why: string
  /** The directive, header, attribute, setting or code to add, as it is written. */
  missing: string
}

/** What a condition showed. */
export interface CauseRow {
  condition: string
  title: string
  shows: boolean
  counts: boolean
  /** Null when the ad shows and counts. */
  why_not: string | null
  missing: string | null
  /** What was imitated, and how; null for the real thing. */
  simulated: string | null
  /** What was looked at. */
  looked_at: string
}

export interface Judging {
  /** The origin that the service has. */
  service: string
  /** Origins that the project allows. */
  allowed_origins: readonly string[]
  client_id: string | null
}

/** Judges the sighting of a condition. */
export function judgeHost(condition: Condition, sighting: Sighting, judging: Judging): CauseRow {
  const { shows, counts } = describeOutcome(sighting)
  const cause = shows && counts ? null : findCause(condition, sighting, judging, shows)
  const { name, title, simulated } = condition
  const { why: why_not, missing } = cause ?? { why: null, missing: null }
  return { condition: name, title, shows, counts, why_not, missing, simulated, looked_at: lookedAt(sighting, judging) }
}

function describeOutcome(sighting: Sighting): Pick<CauseRow, 'shows' | 'counts'> {
  const { placements, was_shown, was_labelled, refused_frames, failures } = sighting
  const counts = placements.some(countsView)
  const hasRenderer = sighting.looks.some(({ has_renderer }) => has_renderer)
  const isRendered =
    listEvents(sighting).some(({ type }) => type === 'rendered') ||
    placements.some(({ beacons }) => beacons.some(({ event, verdict }) => event === 'render' && verdict === 'accepted'))
  // A page with its own frame and without render.js: the frame was loaded, and nothing refused it.
  const isLoaded =
    placements.some(({ first_frame_at_ms }) => first_frame_at_ms !== null) &&
    refused_frames.length === 0 &&
    !failures.some(({ url }) => url.includes('/v1/render/'))
  return { shows: was_shown && (hasRenderer ? isRendered && was_labelled : isLoaded), counts }
}

function listEvents({ looks }: Sighting): HostEvent[] {
  return looks.flatMap(({ events }) => events)
}

function lookedAt({ requests, looks, placements, url }: Sighting, { service }: Judging): string {
  const events = looks.flatMap((each) => each.events).length
  const toService = requests.filter((each) => belongsTo(each.url, service)).length
  return `${requests.length} requests of ${url}, ${toService} of them to the service; ${events} events of render.js; ${placements.length} placements`
}

type Finder = (look: {
  condition: Condition
  sighting: Sighting
  judging: Judging
  events: HostEvent[]
  shows: boolean
}) => Cause | null

function findCause(condition: Condition, sighting: Sighting, judging: Judging, shows: boolean): Cause {
  const look = { condition, sighting, judging, events: listEvents(sighting), shows }
  for (const find of finders) {
    const cause = find(look)
    if (cause !== null) return cause
  }
  const renderer = `<script src="${judging.service}/v1/render.js" async></script>`
  return sighting.placements.length > 0
    ? {
        why: 'The ad was requested, and nothing says why it was not seen.',
        missing: 'SponsoredPlacement.getEvents() in the console of the page, and: svc explain',
      }
    : {
        why: `Nothing was seen: no placement, no event, no frame. Looked at: ${lookedAt(sighting, judging)}.`,
        missing: sighting.looks.some(({ has_renderer }) => has_renderer)
          ? 'SponsoredPlacement.withTurn({ target, endpoint, body }, work), or --steps FILE when the page waits for you'
          : renderer,
      }
}

/** From the outside in. */
const finders: readonly Finder[] = [
  unopened,
  blockedByFilter,
  hiddenByFilter,
  opaqueOrigin,
  wrongAncestor,
  blockedByPolicy,
  blockedByIsolation,
  refusedByService,
  scriptMissing,
  blockedByConsent,
  reportedByRenderer,
  unfilled,
  brokenScript,
  unlabelled,
  unknownScreen,
  uncounted,
]

function unopened({ sighting: { problem } }: Parameters<Finder>[0]): Cause | null {
  return problem === null ? null : { why: problem, missing: 'A server that serves the page: start the app.' }
}

function blockedByFilter({ sighting: { requests } }: Parameters<Finder>[0]): Cause | null {
  const blocked = requests.filter(({ blocked_by }) => blocked_by !== null)
  // Whatever else a blocker blocks on the page is none of the ad's business.
  const own = blocked.find(({ url, destination }) => /\/v1\//.test(url) || destination === 'empty') ?? blocked[0]
  if (own === undefined) return null
  const path = URL.parse(own.url)?.pathname ?? own.url
  return {
    why: `The filter ${own.blocked_by} blocks ${own.method} ${withoutQuery(own.url)}.`,
    missing: `another path in place of ${path}: one without the words that the filter names`,
  }
}

function hiddenByFilter({ sighting: { hidden_by } }: Parameters<Finder>[0]): Cause | null {
  // A blocker may hide the slot a moment after the ad has been shown.
  const rule = hidden_by[0]
  if (rule === undefined) return null
  return {
    why: `The filter ##${rule} hides the slot.`,
    missing: `another id or class in place of ${rule}: one that does not name an ad`,
  }
}

function opaqueOrigin({ condition, events, sighting, shows }: Parameters<Finder>[0]): Cause | null {
  const isReported = events.some(({ code }) => code === 'origin_opaque')
  if (shows || !(isReported || condition.name === 'sandboxed-frame')) return null
  const isSeen = isReported || sighting.refused_frames.length > 0 || sighting.looks.length > 0
  return isSeen
    ? {
        why: 'The page has an opaque origin, which no list of allowed origins can name.',
        missing: 'sandbox="allow-scripts allow-same-origin" on the frame around the page',
      }
    : null
}

function wrongAncestor({ condition, sighting, judging }: Parameters<Finder>[0]): Cause | null {
  const { refused_frames, requests, url } = sighting
  const refusal = requests.find(({ reason_code }) => reason_code === 'origin_not_allowed')
  if (refused_frames.length === 0 && refusal === undefined) return null
  const page = new URL(url).origin
  const around = sighting.page === null ? page : new URL(sighting.page.url).origin
  const isShell = condition.name === 'app-scheme'
  const origins = isShell ? [shellOrigin] : [...new Set([page, around])]
  const unknown = origins.filter((origin) => !isAllowed(origin, judging.allowed_origins))
  const named = unknown.length > 0 ? unknown : origins
  const list = JSON.stringify([...judging.allowed_origins, ...named])
  return {
    why: `${named.join(' and ')} is not an allowed origin of the project: its frames may not be embedded there.`,
    missing: `svc sandbox projects update ${judging.client_id ?? ''} --set 'allowed_origins=${list}'`.replace(
      '  ',
      ' ',
    ),
  }
}

function isAllowed(origin: string, allowed: readonly string[]): boolean {
  return allowed.some((each) => each === origin || each === '*' || each === origin.replace(/:\d+$/, ':*'))
}

function blockedByPolicy({ sighting, judging, events }: Parameters<Finder>[0]): Cause | null {
  const { service } = judging
  const all = sighting.looks.flatMap(({ violations }) => violations)
  const ofService = all.find(({ blocked }) => belongsTo(blocked, service))
  if (ofService !== undefined) {
    const directive = ofService.directive.replace(/-elem$/, '')
    return {
      why: `The Content-Security-Policy of the page blocks ${withoutQuery(ofService.blocked)}.`,
      missing: `Content-Security-Policy: ${directive} ${service}`,
    }
  }
  const reported = events.find(({ code }) => code === 'csp_blocked')
  if (reported !== undefined) {
    return {
      why: 'The Content-Security-Policy of the page blocks the service.',
      missing: `Content-Security-Policy: ${reported.directive ?? 'frame-src'} ${service}`,
    }
  }
  const [types] = all.filter(({ directive }) => directive === 'require-trusted-types-for')
  if (types !== undefined) {
    const [sink = 'a sink'] = types.sample.split('|')
    return {
      why: `Trusted Types refuse a string for ${sink}${at(types.place)}.`,
      missing: `textContent or createElement in place of ${sink}${at(types.place)}, or a policy: trustedTypes.createPolicy(...)`,
    }
  }
  const [attribute] = all.filter(({ directive }) => directive === 'script-src-attr')
  if (attribute !== undefined) {
    return {
      why: `An inline event handler is refused${at(attribute.place)}.`,
      missing: `addEventListener in place of ${attribute.sample || 'the on… attribute'}`,
    }
  }
  const [script] = all.filter(({ directive }) => directive.startsWith('script-src'))
  if (script === undefined) return null
  const isEval = script.blocked === 'eval'
  return {
    why: `A script of the page is refused${at(script.place)}: ${script.blocked}.`,
    missing: isEval
      ? `code without eval or new Function${at(script.place)}`
      : 'nonce="…" on the script element, set by the script that inserts it: script.nonce = document.currentScript.nonce',
  }
}

function blockedByIsolation({ sighting: { failures } }: Parameters<Finder>[0]): Cause | null {
  const [failure] = failures.filter(({ error }) => /ByCoep|CORP|BLOCKED_BY_RESPONSE/i.test(error))
  if (failure === undefined) return null
  return {
    why: `Under COEP the browser refuses ${withoutQuery(failure.url)}, which does not permit other origins.`,
    missing: `Cross-Origin-Resource-Policy: cross-origin on ${new URL(failure.url).origin}`,
  }
}

function refusedByService({ sighting, judging }: Parameters<Finder>[0]): Cause | null {
  const { requests } = sighting
  const refused = requests.find(({ url, status }) => belongsTo(url, judging.service) && status >= 400)
  if (refused === undefined) return null
  const { method, url, status, reason_code } = refused
  const path = URL.parse(url)?.pathname ?? url
  if (reason_code === null) {
    return {
      why: `${method} ${path} of the service responds ${status}.`,
      missing: path.endsWith('.js')
        ? `<script src="${judging.service}/v1/render.js" async></script>`
        : 'svc observe --since 10m',
    }
  }
  return {
    why: `The service refuses ${method} ${path}: ${status} ${reason_code}.`,
    missing: `what the error says: svc docs errors/${reason_code}`,
  }
}

function scriptMissing({ sighting, judging }: Parameters<Finder>[0]): Cause | null {
  const { looks, failures, requests } = sighting
  if (looks.some(({ has_renderer }) => has_renderer)) return null
  const failed = failures.find(({ url }) => url.endsWith('/v1/render.js'))
  const isAsked = requests.some(({ url }) => url.endsWith('/v1/render.js'))
  const isUsed = looks.some(({ errors }) => errors.some((error) => error.includes('SponsoredPlacement')))
  if (failed === undefined && (isAsked || !isUsed)) return null
  return {
    why:
      failed === undefined
        ? 'The page uses SponsoredPlacement and does not load render.js.'
        : `render.js does not load from ${withoutQuery(failed.url)}: ${failed.error}.`,
    missing: `<script src="${judging.service}/v1/render.js" async></script>`,
  }
}

function blockedByConsent({ events }: Parameters<Finder>[0]): Cause | null {
  const reason = events.find(({ type }) => type === 'blocked')?.reason
  if (reason === undefined) return null
  return { why: `Consent does not permit the ad: ${reason}.`, missing: `a consent: svc docs render-js/${reason}` }
}

/** Errors that cost no ad. */
const notices: ReadonlySet<string> = new Set(['late_decision', 'option_unknown'])

function reportedByRenderer({ events, sighting }: Parameters<Finder>[0]): Cause | null {
  const error = events.find(({ type, code }) => type === 'error' && !notices.has(code ?? ''))
  if (error === undefined) return null
  const { code = 'unknown' } = error
  const { message, causes } = describeRendererError({ ...error, code })
  const refused = sighting.requests.find(({ destination, status }) => destination === 'empty' && status >= 400)
  return {
    why: `render.js reports ${code}: ${[message, ...causes].join(' ')}`,
    missing: missingFor(code, refused),
  }
}

function missingFor(code: string, refused: SeenRequest | undefined): string {
  if (code === 'endpoint_missing') return "endpoint: '/api/placement' in the options of the turn"
  if (refused === undefined || code !== 'request_failed') return `svc docs render-js/${code}`
  const path = URL.parse(refused.url)?.pathname ?? refused.url
  return `a route ${refused.method} ${path} that returns the response of POST /v1/placements unchanged`
}

function unfilled({ sighting: { placements }, shows }: Parameters<Finder>[0]): Cause | null {
  if (shows || placements.some(({ fill }) => fill !== false)) return null
  const [placement] = placements
  if (placement === undefined) return null
  return {
    why: `There was no ad to show: ${placement.no_fill_reason ?? 'no fill'}.`,
    missing: placement.fix ?? `svc explain ${placement.slot_id}`,
  }
}

function brokenScript({ sighting: { looks, placements } }: Parameters<Finder>[0]): Cause | null {
  const error = looks.flatMap(({ errors }) => errors)[0]
  if (error === undefined || placements.length > 0) return null
  return { why: `The page throws before it asks for an ad: ${error}`, missing: `a fix of ${error}` }
}

function unlabelled({ sighting: { was_shown, was_labelled, looks } }: Parameters<Finder>[0]): Cause | null {
  if (!was_shown || was_labelled || !looks.some(({ has_renderer }) => has_renderer)) return null
  return {
    why: 'The label of the ad cannot be seen.',
    missing: 'a style that leaves [data-sp-label] alone: display, visibility and opacity as they are',
  }
}

/** The renderer measures no ad in a viewport that no screen can show as a whole (A104). */
function unknownScreen({ condition, sighting: { placements } }: Parameters<Finder>[0]): Cause | null {
  const { viewport, screen } = condition.context ?? {}
  const beacons = placements.flatMap((each) => each.beacons)
  const isUnmeasured = beacons.some(({ reason_code }) => reason_code === 'VISIBILITY_UNMEASURED')
  if (!viewport || !screen || viewport.height <= screen.height || !isUnmeasured) return null
  return {
    why: 'The viewport is larger than the screen, so that nobody knows which part of the page shows.',
    missing: 'SponsoredPlacement.setViewport({ top, left, width, height }), called by the app as its user scrolls',
  }
}

function uncounted({ sighting: { placements, page, looks, was_shown } }: Parameters<Finder>[0]): Cause | null {
  const placement = placements.find(({ fill }) => fill === true)
  if (placement === undefined) return null
  const mount = page?.mounts.find(({ slot_id }) => slot_id === placement.slot_id) ?? page?.mounts[0]
  if (!was_shown || (mount !== undefined && mount.hidden_by !== null)) {
    const size = looks.flatMap(({ frames }) => frames)[0]?.size ?? 'none'
    return {
      why: mount?.hidden_by
        ? `The ad is hidden by ${mount.hidden_by}.`
        : `The ad has no size that can be seen: ${size}.`,
      missing: 'min-width and min-height of the slot, and no style that hides it',
    }
  }
  if (mount !== undefined && mount.seen_share < 0.5) {
    const what = mount.clipped_by === null ? 'is placed outside of the window' : `is cut off by ${mount.clipped_by}`
    return {
      why: `At most ${Math.round(mount.seen_share * 100)} % of the ad came into view: it ${what}.`,
      missing: `room for ${mount.width} × ${mount.height} pixels around the slot`,
    }
  }
  return uncountedBeacon(placement)
}

function uncountedBeacon(placement: Sighting['placements'][number]): Cause {
  const rejected = placement.beacons.find(({ verdict }) => verdict === 'rejected')
  if (rejected !== undefined) {
    return {
      why: `The beacon ${rejected.event ?? ''} was rejected: ${rejected.reason_code}.`,
      missing: `svc docs beacons/${rejected.reason_code}`,
    }
  }
  const visible = placement.beacons.find(({ event }) => event === 'visible')
  return {
    why: visible === undefined ? 'No view was reported.' : `The view does not count: ${visible.reason_code}.`,
    missing: placement.fix ?? placement.billing?.explanation ?? `svc explain ${placement.slot_id}`,
  }
}

function belongsTo(url: string, service: string): boolean {
  const port = URL.parse(service)?.port
  const found = URL.parse(url)
  if (found === null) return false
  return found.origin === service || (/^(127\.0\.0\.1|localhost|\[::1\])$/.test(found.hostname) && found.port === port)
}

function at(place: string): string {
  return place === '' ? '' : ` at ${place}`
}
