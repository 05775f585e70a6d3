/**
 * A turn and its ad: one placement, one view, in one slot, for as long as its message can be seen (A102). The turn is read from
 * the beacons. Without one, a journal cannot know which requests belong to a message; a page that is watched can: its text is
 * beside the ad.
 */

import { groupBy, isPlacementRequest, type JournaledExchange, joinFirst, type NonEmpty } from '#diagnosis/exchange.ts'
import { plural } from '#text/text.ts'
import type { Mount } from '../facts/mounts.ts'
import { type AdBeacon, adsInJournal, isAnySeen, isNamedByPage, isViewEvent, type ShownAd } from '../facts/shown-ads.ts'
import { type Judgement, type Observed, type RuleFinding, type RuleText, ruleSet } from '../rule.ts'
import { isOwnLoss } from './renderer-errors.ts'

const nameTheMessage =
  'Give startTurn the id of the message as turnId, each time its slot is drawn: the ad comes back without a request.'

/** What is wrong, with the beacons that show it. `svc beacons lint` finds the same in a file. */
interface FoundTurn {
  message: string
  /** A more specific fix than the rule's. */
  fix?: string
  beacons: readonly AdBeacon[]
}

/** Text and judge of the rules that need nothing but beacons. */
export const turnAskedAgain = {
  title: 'a turn has one placement',
  severity: 'warning',
  costs:
    'Each is a new auction for the same message: it uses up the frequency cap of the session, and lowers your show rate.',
  fix: 'Ask once for a message: not again when the page is reloaded with a stored conversation, in a second tab, or after destroy(). Never give two messages the same turnId.',
  needs: 'a beacon with a metadata.turn_id that the page gave its turn',
} as const satisfies Omit<RuleText, 'id'>

export const countedTwice = {
  title: 'the view of a message counts once',
  severity: 'error',
  costs: 'The buyer pays twice for one view: it is found, refunded, and looks like fraud.',
  fix: `Mount a placement once, and keep it for its message. ${nameTheMessage}`,
  needs: 'a reported view',
} as const satisfies Omit<RuleText, 'id'>

/** Returns the ads of each turn, by session and id. */
function groupTurns(ads: readonly ShownAd[]): NonEmpty<ShownAd>[] {
  const named = ads.filter(({ turn_id }) => turn_id !== null)
  return [...groupBy(named, ({ session, turn_id }) => JSON.stringify([session, turn_id])).values()]
}

const listSlots = (ads: readonly ShownAd[]) => joinFirst(ads.map(({ slot_id }) => slot_id))
const firstBeacons = (ads: readonly ShownAd[]) => ads.flatMap(({ beacons }) => beacons.slice(0, 1))

export function findAskedAgain(ads: readonly ShownAd[]): { sample_size: number; found: FoundTurn[] } {
  const turns = groupTurns(ads)
  const again = turns.filter(({ length }) => length > 1)
  return {
    // render.js gives each turn without an id a new one: of those alone it cannot be seen.
    sample_size: turns.filter((own) => own.length > 1 || isNamedByPage(own[0].turn_id)).length,
    found: again.map((own) => ({
      message: `Turn ${quoted(own[0])} has ${plural(own.length, 'placement')}: ${listSlots(own)}.`,
      beacons: firstBeacons(own),
    })),
  }
}

/** A service counts an asset token once: one that several mounts reported. */
function findCountedByMounts(ads: readonly ShownAd[]): FoundTurn[] {
  return ads.flatMap(({ slot_id, turn_id, beacons }) => {
    const mounts = [...new Map(beacons.filter(isCountable).map((view) => [view.mount, view])).values()]
    const message = `The view of ${slot_id} was reported by ${plural(mounts.length, 'mount')}; one of them counts.`
    const fix = 'Mount a placement once: do not pass its response to several slots, or to a copy of one.'
    return mounts.length > 1 ? [{ message, beacons: mounts, ...(isNamedByPage(turn_id) && { fix }) }] : []
  })
}

/** A service does not know turns: one whose placements were each viewed. */
export function findCountedByTurn(ads: readonly ShownAd[]): { sample_size: number; found: FoundTurn[] } {
  const turns = groupTurns(ads.filter(({ beacons }) => beacons.some(isCounted)))
  const found = turns
    .filter(({ length }) => length > 1)
    .map((own) => ({
      message: `The view of turn ${quoted(own[0])} counts ${own.length} times, once for each of ${listSlots(own)}.`,
      // The page names its turns: they were asked for more than once.
      fix: turnAskedAgain.fix,
      beacons: own.flatMap(({ beacons }) => beacons.find(isCounted) ?? []),
    }))
  return { sample_size: turns.length, found }
}

/** A view that counts, or would if another had not. */
const isCountable = (beacon: AdBeacon) =>
  isViewEvent(beacon.event) && (isCounted(beacon) || beacon.reason_code === 'ALREADY_COUNTED')
const isCounted = ({ event, reason_code }: AdBeacon) => isViewEvent(event) && reason_code === 'OK'

/** A turn id is the integrator's own text. */
function quoted({ turn_id }: ShownAd): string {
  return JSON.stringify((turn_id ?? '').slice(0, 60))
}

export const turnRules = ruleSet('journal', {
  'turn-asked-again': {
    ...turnAskedAgain,
    judge: (observed) => toJudgement(findAskedAgain(adsInJournal(observed))),
  },
  'counted-twice': {
    ...countedTwice,
    judge: (observed) => {
      const viewed = adsInJournal(observed).filter(({ beacons }) => beacons.some(isCountable))
      const found = [...findCountedByMounts(viewed), ...findCountedByTurn(viewed).found]
      return toJudgement({ sample_size: viewed.length, found })
    },
  },
  'lost-on-remount': {
    title: 'an ad comes back with its message',
    severity: 'warning',
    costs:
      'An ad that leaves before it was seen is not paid; a new one for the same message is bought again, and counts again.',
    fix: `${nameTheMessage} If one slot shows the ads of all messages, keep each until it was seen: finish() waits for that.`,
    needs: 'an ad that rendered',
    judge: (observed) => {
      const rendered = adsInJournal(observed).filter(({ beacons }) => beacons.some(({ event }) => event === 'render'))
      // The page shows each ad that leaves it: what the journal only suggests is not needed then.
      const findings = observed.page
        ? findReplacedInPage(observed, rendered, observed.page.mounts)
        : findLostInJournal(observed, rendered)
      // Where the page lost every ad none could come back.
      const isLost = observed.page?.renderer_errors.some((each) => isOwnLoss(each, observed.page!, isAnySeen(observed)))
      return { sample_size: isLost ? findings.length : rendered.length, findings }
    },
  },
  'two-in-one-slot': {
    title: 'a slot shows one ad at a time',
    severity: 'error',
    costs: 'Both views are billed for the room of one: buyers exclude pages that stack ads.',
    fix: 'Load render.js once, and let it clear the slot: do not put back a copy of its HTML, and do not add frames beside it.',
    needs: 'an ad that was in view',
    judge: (observed) => {
      const seen = adsInJournal(observed).filter(({ beacons }) => beacons.some(isInView))
      return { sample_size: seen.length, findings: [...findPairsInJournal(seen), ...findPairsInPage(observed)] }
    },
  },
})

function toJudgement({ sample_size, found }: { sample_size: number; found: readonly FoundTurn[] }): Judgement {
  return {
    sample_size,
    findings: found.map(({ beacons, ...texts }) => ({ ...texts, requests: sourceRequests(beacons) })),
  }
}

function sourceRequests(beacons: readonly AdBeacon[]): JournaledExchange[] {
  return beacons.flatMap(({ source }) => ('request_id' in source ? [source] : []))
}

/** Heartbeats come every ten seconds; a page that was there for this long would have sent one. */
const heartbeatDueMs = 12_000
/** An ad that stays sends this many heartbeats, then no more. */
const maxHeartbeats = 30
/** The user may have left one ad behind; more of them are a pattern. */
const minPatternAds = 2

/**
 * What a journal can show: ads that rendered, were never seen, and sent no heartbeat although their page went on; each followed
 * by the same request in the same session. Whether that was the same message drawn again, or the next one, it cannot know.
 */
function findLostInJournal({ exchanges }: Observed, ads: readonly ShownAd[]): RuleFinding[] {
  const requests = exchanges
    .filter((each) => isPlacementRequest(each) && each.status === 200)
    .map((request) => ({ request, body: `${request.client_id} ${JSON.stringify(request.request_body)}` }))
  const lost = ads.filter((ad) => !ad.beacons.some(({ event }) => isViewEvent(event)) && isGone(ad, ads))
  const repeated = lost.flatMap((ad) => {
    const at = requests.findIndex(({ request }) => request.slot_id === ad.slot_id)
    const body = requests[at]?.body
    const next = at < 0 ? undefined : requests.slice(at + 1).find((each) => each.body === body)
    return next === undefined ? [] : [{ ad, ...next }]
  })
  const sessions = Map.groupBy(repeated, ({ body }) => body)
  return [...sessions.values()]
    .filter(({ length }) => length >= minPatternAds)
    .map((group) => ({
      message: `${group.length} ads rendered, were gone before they had been seen, and were followed by the same request in the same session: ${listSlots(group.map(({ ad }) => ad))}.`,
      requests: group.flatMap(({ ad, request }) => [...sourceRequests(ad.beacons.slice(-1)), request]),
    }))
}

/** Whether the page sent beacons of other ads for longer than a heartbeat takes, after the last of this one. */
function isGone({ session, slot_id, beacons }: ShownAd, ads: readonly ShownAd[]): boolean {
  const last_ms = beacons.at(-1)!.at_ms
  if (beacons.filter(({ event }) => event === 'heartbeat').length >= maxHeartbeats) return false
  const later = ads
    .filter((ad) => ad.session === session && ad.slot_id !== slot_id)
    .flatMap((ad) => ad.beacons.filter(({ at_ms, page_visible }) => at_ms > last_ms && page_visible !== false))
    .map(({ at_ms }) => at_ms)
  return later.length > 0 && Math.max(...later) - Math.min(...later) >= heartbeatDueMs
}

/** What a page shows: placements one after the other beside the same text, each in an element of its own. */
function findReplacedInPage({ exchanges }: Observed, ads: readonly ShownAd[], mounts: readonly Mount[]): RuleFinding[] {
  const turns = new Map(ads.map(({ slot_id, turn_id }) => [slot_id, turn_id]))
  const beside = Map.groupBy(mounts, ({ text }) => text)
  beside.delete(null)
  return [...beside.values()].flatMap((group): RuleFinding[] => {
    const inTurn = group.toSorted((one, other) => one.from_ms - other.from_ms)
    const replaced = inTurn.filter((mount, at) => {
      const before = inTurn[at - 1]
      return at === 0 || (before!.until_ms < mount.from_ms && before!.target !== mount.target)
    })
    const slots = new Set(replaced.map(({ slot_id }) => slot_id))
    // Placements of one turn have their own rule.
    if (new Set([...slots].map((slot_id) => turns.get(slot_id) ?? slot_id)).size < 2) return []
    return [
      {
        message: `${slots.size} placements were shown for one message, one after the other, each in a new element beside the same text: ${joinFirst([...slots])}.`,
        fix: fixOfReplaced([...slots].map((slot_id) => turns.get(slot_id) ?? null)),
        requests: exchanges.filter((each) => isPlacementRequest(each) && slots.has(each.slot_id ?? '')),
      },
    ]
  })
}

/** A page that names its turns has given one message several ids. */
function fixOfReplaced(turn_ids: readonly (string | null)[]): string {
  const named = turn_ids.filter(isNamedByPage)
  if (named.length < turn_ids.length) return nameTheMessage
  const ids = joinFirst(named.map((turn_id) => JSON.stringify(turn_id.slice(0, 60))))
  return `Give startTurn the same turnId each time the message is drawn; here it had ${ids}.`
}

/** Whether a beacon measured that at least half of its ad could be seen, or that it was viewed. */
function isInView({ event, visible_ratio, page_visible }: AdBeacon): boolean {
  return page_visible !== false && (event === 'visible' || (visible_ratio ?? 0) >= 0.5)
}

/** Two placements of one turn, both in view while both were in the page. A journal knows no other slot than that of a turn. */
function findPairsInJournal(seen: readonly ShownAd[]): RuleFinding[] {
  return groupTurns(seen).flatMap((own) => {
    const pairs = own.flatMap((one, at) => own.slice(at + 1).map((other) => [one, other] as const))
    return pairs.flatMap(([one, other]) => {
      const from_ms = Math.max(one.beacons[0]!.at_ms, other.beacons[0]!.at_ms)
      const until_ms = Math.min(one.beacons.at(-1)!.at_ms, other.beacons.at(-1)!.at_ms)
      const [first, second] = [one, other].map(({ beacons }) =>
        beacons.find(
          (each) => isInView(each) && each.at_ms >= from_ms && each.at_ms - (each.visible_ms ?? 0) <= until_ms,
        ),
      )
      if (from_ms > until_ms || first === undefined || second === undefined) return []
      const message = `${one.slot_id} and ${other.slot_id} of turn ${quoted(one)} were in view at the same time.`
      return [{ message, requests: sourceRequests([first, second]) }]
    })
  })
}

function findPairsInPage({ page, exchanges }: Observed): RuleFinding[] {
  const groups = (page?.mounts ?? []).filter(({ rivals }) => rivals.length > 0)
  const distinct = new Map(groups.map(({ slot_id, rivals }) => [[slot_id, ...rivals].sort().join(' and '), rivals]))
  return [...distinct.keys()].map((slots) => ({
    message: `${slots} were in view at the same time in one element of the page.`,
    requests: exchanges.filter((each) => isPlacementRequest(each) && slots.split(' and ').includes(each.slot_id ?? '')),
  }))
}
