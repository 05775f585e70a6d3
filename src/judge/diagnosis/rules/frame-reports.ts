/** Loaded frames that sent no beacons, or none that counts. */
import type { BeaconEvent } from '#contract/exports.ts'
import {
  countPhrase,
  isBeacon,
  isFromBrowser,
  type JournaledExchange,
  listSlots,
  loadedFrames,
} from '#diagnosis/exchange.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { reportsBeforeFrame } from '../facts/shown-ads.ts'
import { completeUntil, findingFor, type Observed, type RuleFinding } from '../rule.ts'

export const silenceCauses =
  'Otherwise the console of the page names the cause: connect-src of its CSP, an origin that is not allowed, or a blocker; or its slot has no room, as with display: none; or the page was left before the ad was painted.'

/** Returns how many frames should have sent beacons by now, those without any, and those with beacons but no render. */
export function frameReports(exchanges: readonly JournaledExchange[], observed: Observed) {
  const sent = slotsWith(observed)
  // What others report for a frame says nothing of it, and has its own rule.
  const early = new Set([...reportsBeforeFrame(observed.exchanges)].map(({ slot_id }) => slot_id))
  const frames = [...loadedFrames(exchanges).values()].filter(
    ({ slot_id, at_ms }) => at_ms <= completeUntil(observed) && !early.has(slot_id),
  )
  const rendered = slotsWith(observed, 'render')
  // A beacon that was refused before its body was read may be that of any frame, and has its own rule.
  const unread = exchanges.filter((each) => isBeacon(each) && each.status >= 400 && each.slot_id === null)
  return {
    count: frames.length,
    silent: frames.filter(({ slot_id, at_ms }) => !sent.has(slot_id) && !unread.some((each) => each.at_ms >= at_ms)),
    unrendered: frames.filter(({ slot_id }) => sent.has(slot_id) && !rendered.has(slot_id)),
  }
}

/** Returns the slots with beacons, rejected ones too: beacons of any event, or of one. */
export function slotsWith({ beacons }: Observed, event?: BeaconEvent): Set<string | null> {
  const wanted = beacons.filter((beacon) => event === undefined || beacon.event === event)
  return new Set(wanted.map(({ slot_id }) => slot_id))
}

export function missingReports(
  { exchanges }: Observed,
  silent: readonly JournaledExchange[],
  unrendered: readonly JournaledExchange[],
): RuleFinding[] {
  const slots = (requests: readonly JournaledExchange[]) => `${countPhrase(requests.length)}: ${listSlots(requests)}.`
  const renderFirst = 'Send render first: without it nothing else counts.'
  const isScriptLoaded = exchanges.some((each) => isFromBrowser(each) && each.path.startsWith('/v1/render.js'))
  const causes = Map.groupBy(silent, (frame) => explainSilence(frame, isScriptLoaded))
  return [
    ...[...causes].flatMap(([cause, frames]) => {
      const { how, fix } = findEntry(silences, cause)!
      return findingFor(frames, `A frame was loaded${how} and no beacon arrived, ${slots(frames)}`, fix)
    }),
    ...findingFor(unrendered, `A frame sent beacons but no render, ${slots(unrendered)}`, renderFirst),
  ]
}

/** Why a frame sent nothing, judging by how its request shows it was loaded. */
const silences: Readonly<Record<string, { how: string; fix?: string }>> = {
  image: {
    how: ' as an image',
    fix: 'frame_url is a document, not a picture: mount it in an iframe, with render.js.',
  },
  script: {
    how: ' by a script of the page',
    fix: 'Its HTML does nothing outside its own frame: mount frame_url in an iframe, with render.js.',
  },
  alone: {
    how: ' in a page that loaded no render.js',
    fix: 'An iframe alone sends nothing: mount it with render.js, which reports when it is rendered and seen.',
  },
  unknown: { how: '' },
}

function explainSilence(frame: JournaledExchange, isScriptLoaded: boolean): string {
  const destination = frame.request_headers['sec-fetch-dest'] ?? 'iframe'
  if (destination === 'image') return 'image'
  if (destination === 'empty') return 'script'
  return isScriptLoaded ? 'unknown' : 'alone'
}
