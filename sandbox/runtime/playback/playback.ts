/**
 * Plays a recording: finds the recorded exchange of a request, and puts the present into its response. The emulator acts for
 * every success, with the recorded decision, so that slots, tokens, frames and beacons of a played placement are real.
 */
import { type RecordedId, readRequestBody } from '#contract/recordings/recording.ts'
import type { Json } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { describeMissing } from './missing-request.ts'
import type { RecordedMedia } from './recorded-media.ts'
import { type ComparedRequest, comparedFields, findSession, formText, namedThings } from './request-form.ts'
import { listSlots, type Scope, type Script, type ScriptedDecision, type ScriptedExchange } from './script.ts'
import { substitute } from './substitution.ts'

export interface PlaybackReport {
  /** Exchanges of the recording that can be played, and how many of them were, at least once. */
  exchanges: number
  played: number
  /** Requests that the recording has no response to. */
  not_recorded: number
  /** Requests that the service accepted and the emulator refused. */
  refused: number
  /** Exchanges that no request has asked for. */
  unplayed: { method: string; path: string; count: number }[]
}

/** What the recording says about a request. */
type Match = {
  /** The body of the request, as a recording has it. */
  body: Json | string | null
} & (
  | { kind: 'recorded'; played: PlayedExchange }
  /** The emulator responds: to what the recording does not have of its own things, or with `fallback` to anything. */
  | { kind: 'emulator' }
  | { kind: 'missing'; hint: string }
)

/** A request as it was sent. */
export interface SentRequest extends Pick<ComparedRequest, 'endpoint' | 'params' | 'query'> {
  text: string
}

export interface PlayedExchange {
  recorded: ScriptedExchange
  /** The decisions of the slots of a job, in their order. Null for a slot whose decision was not recorded. */
  decisions: readonly (ScriptedDecision | null)[]
  /**
   * Returns the recorded body with the identifiers, times, tokens, addresses and counts of the present one, and follows
   * them from now on; null when a token has none in its place.
   */
  respond(present: PresentResponse): Json | null
  /** Notes that the emulator refused the request: the exchange can be played again. */
  release(): void
}

/** The response of the emulator. */
interface PresentResponse {
  body: Json | null
  headers: Readonly<Record<string, string>>
  /** Where the emulator is. */
  base_url: string
}

interface Playback {
  find(sent: SentRequest): Match
  report(): PlaybackReport
  /** Plays everything from the beginning: the state has been replaced. */
  restart(): void
}

/** Everything that a sandbox plays. */
export interface Player extends Playback {
  readonly source: PlaybackSource
  readonly media: RecordedMedia
}

export interface PlaybackSource {
  /** Null for a recording that was given as text. */
  file: string | null
  /** The program that recorded it. */
  creator: string
  /** When its newest exchange was recorded. */
  recorded_at_ms: number
  exchanges: number
  sessions: number
  /** Whether the emulator responds to what was not recorded. */
  fallback: boolean
}

/** What a client does again to get what it was given, without a session. */
const repeated: ReadonlySet<RecordedId> = new Set(['browser.activate', 'browser.activation'])

/** A thing of the present, and the recorded one in whose place it is. */
interface PresentThing {
  present: string
  recorded: string
}

/** How far a sequence was played for one thing or session of the present. */
interface Progress {
  next: number
  /** Places that were taken and given back. */
  free: number[]
}

/** @param fallback whether the emulator responds to what was not recorded */
export function createPlayback(script: Script, fallback: boolean): Playback {
  const things = new Map<string, PresentThing>()
  /** The recorded session that each session of the present plays. */
  const sessions = new Map<string, string>()
  const progress = new Map<string, Progress>()
  const played = new Set<ScriptedExchange>()
  const counts = { not_recorded: 0, refused: 0 }

  const find = ({ text, ...sent }: SentRequest): Match => {
    const body = readRequestBody(sent.endpoint, text)
    const request = { ...sent, body }
    const fields = comparedFields(request)
    const form = formText(fields)
    const thing = namedThings(request).flatMap((name) => things.get(name) ?? [])[0]
    const session = findSession(request)
    const place = findPlace({ request, form, thing, session })
    const found = place === null ? null : takeNext(request, place, form)
    if (found !== null) return { kind: 'recorded', played: found, body }
    if (thing !== undefined) return { kind: 'emulator', body }
    counts.not_recorded++
    if (fallback) return { kind: 'emulator', body }
    return { kind: 'missing', body, hint: describeMissing(script, { endpoint: request.endpoint, fields }) }
  }

  /** Where in the recording a request belongs, and whose progress there counts. */
  const findPlace = ({ request, form, thing, session }: Asked): Place | null => {
    if (thing !== undefined) return { scope: { kind: 'thing', name: thing.recorded }, owner: `thing ${thing.present}` }
    if (session === null) return { scope: { kind: 'none' }, owner: '' }
    const name = sessions.get(session) ?? chooseSession(request, form, session)
    if (name === null) return null
    sessions.set(session, name)
    return { scope: { kind: 'session', name }, owner: `session ${session}` }
  }

  /** The recorded session of the same name, else of those that have the request the one that is played least. */
  const chooseSession = ({ endpoint }: ComparedRequest, form: string, session: string): string | null => {
    if (script.sessions.includes(session)) return session
    const players = [...sessions.values()]
    const playersOf = (name: string) => players.filter((other) => other === name).length
    return (
      script.sessions
        .filter((name) => script.sequence(endpoint, { kind: 'session', name }, form).length > 0)
        .toSorted((one, other) => playersOf(one) - playersOf(other))[0] ?? null
    )
  }

  const takeNext = ({ endpoint }: ComparedRequest, { scope, owner }: Place, form: string): PlayedExchange | null => {
    const sequence = script.sequence(endpoint, scope, form)
    if (sequence.length === 0) return null
    const key = JSON.stringify([endpoint, owner, form])
    const own = progress.get(key) ?? { next: 0, free: [] }
    progress.set(key, own)
    const place = own.free.shift() ?? own.next++
    const recorded = sequence[place]
    if (recorded !== undefined) return play(recorded, () => own.free.push(place))
    own.next = sequence.length
    const last = sequence.findLast(({ status }) => status < 400)
    const isRepeated = last !== undefined && (last.method === 'GET' || repeated.has(endpoint))
    return isRepeated ? play(last, () => {}) : null
  }

  const play = (recorded: ScriptedExchange, giveBack: () => void): PlayedExchange => {
    const isFirst = !played.has(recorded)
    played.add(recorded)
    return {
      recorded,
      decisions: recorded.slot_ids.map((id) => script.decisions.get(id) ?? null),
      respond(present) {
        const addresses = { recorded: recorded.base_url, present: present.base_url }
        const { body, pairs, isComplete } = substitute(recorded.json, present.body, addresses)
        follow(recorded, present, pairs)
        return isComplete ? body : null
      },
      release() {
        if (isFirst) played.delete(recorded)
        counts.refused++
        giveBack()
      },
    }
  }

  const follow = (recorded: ScriptedExchange, present: PresentResponse, pairs: readonly [string, string][]) => {
    const slots = listSlots(present.body, present.headers)
    const all = [
      ...pairs,
      ...recorded.slot_ids.flatMap((id, at): [string, string][] => (slots[at] === undefined ? [] : [[id, slots[at]]])),
    ]
    const byThing = new Map(all)
    for (const [name, given] of all) {
      const thing = script.things.get(name)
      if (thing === undefined) continue
      // The redactor has been over the requests that name it.
      const key = redactSecrets(given)
      things.set(key, { recorded: thing, present: redactSecrets(byThing.get(thing) ?? given) })
    }
  }

  return {
    find,
    report: () => ({
      exchanges: script.exchanges.length,
      played: played.size,
      ...counts,
      unplayed: countByEndpoint(script.exchanges.filter((exchange) => !played.has(exchange))),
    }),
    restart() {
      things.clear()
      sessions.clear()
      progress.clear()
      played.clear()
      Object.assign(counts, { not_recorded: 0, refused: 0 })
    },
  }
}

interface Asked {
  request: ComparedRequest
  form: string
  thing: PresentThing | undefined
  session: string | null
}

interface Place {
  scope: Scope
  /** The thing or session of the present. */
  owner: string
}

/** Most frequent first. */
function countByEndpoint(exchanges: readonly ScriptedExchange[]): PlaybackReport['unplayed'] {
  const counted = new Map<string, PlaybackReport['unplayed'][number]>()
  for (const { endpoint, method, template } of exchanges) {
    const row = counted.get(endpoint) ?? { method, path: template, count: 0 }
    counted.set(endpoint, { ...row, count: row.count + 1 })
  }
  return [...counted.values()].toSorted((one, other) => other.count - one.count)
}
