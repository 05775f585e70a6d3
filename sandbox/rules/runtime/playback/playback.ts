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
  const run: Run = {
    script,
    fallback,
    things: new Map(),
    sessions: new Map(),
    progress: new Map(),
    played: new Set(),
    counts: { not_recorded: 0, refused: 0 },
  }
  return {
    find: (sent) => find(run, sent),
    report: () => ({
      exchanges: script.exchanges.length,
      played: run.played.size,
      ...run.counts,
      unplayed: countByEndpoint(script.exchanges.filter((exchange) => !run.played.has(exchange))),
    }),
    restart() {
      run.things.clear()
      run.sessions.clear()
      run.progress.clear()
      run.played.clear()
      Object.assign(run.counts, { not_recorded: 0, refused: 0 })
    },
  }
}

/** A script as far as it has been played. */
interface Run {
  readonly script: Script
  readonly fallback: boolean
  /** By the identifiers and tokens of the present, as the redactor leaves them. */
  readonly things: Map<string, PresentThing>
  /** The recorded session that each session of the present plays. */
  readonly sessions: Map<string, string>
  readonly progress: Map<string, Progress>
  readonly played: Set<ScriptedExchange>
  readonly counts: Pick<PlaybackReport, 'not_recorded' | 'refused'>
}

function find(run: Run, { text, ...sent }: SentRequest): Match {
  const body = readRequestBody(sent.endpoint, text)
  const request = { ...sent, body }
  const fields = comparedFields(request)
  const form = formText(fields)
  const thing = namedThings(request).flatMap((name) => run.things.get(name) ?? [])[0]
  const place = findPlace(run, { request, form, thing })
  const played = place === null ? null : takeNext(run, request.endpoint, form, place)
  if (played !== null) return { kind: 'recorded', played, body }
  if (thing !== undefined) return { kind: 'emulator', body }
  run.counts.not_recorded++
  if (run.fallback) return { kind: 'emulator', body }
  return { kind: 'missing', body, hint: describeMissing(run.script, { endpoint: request.endpoint, fields }) }
}

/** Returns where in the recording a request belongs, and whose progress counts there; null for a session without one. */
function findPlace(run: Run, { request, form, thing }: Asked): Place | null {
  if (thing !== undefined) return { scope: { kind: 'thing', name: thing.recorded }, owner: `thing ${thing.present}` }
  const session = findSession(request)
  if (session === null) return { scope: { kind: 'none' }, owner: '' }
  const name = run.sessions.get(session) ?? chooseSession(run, request.endpoint, form, session)
  if (name === null) return null
  run.sessions.set(session, name)
  return { scope: { kind: 'session', name }, owner: `session ${session}` }
}

/** Returns the recorded session of the same name, else of those that have the request the one that is played least. */
function chooseSession({ script, sessions }: Run, endpoint: RecordedId, form: string, session: string): string | null {
  if (script.sessions.includes(session)) return session
  const players = new Map<string, number>()
  for (const name of sessions.values()) players.set(name, (players.get(name) ?? 0) + 1)
  const candidates = script.sessions.filter(
    (name) => script.sequence(endpoint, { kind: 'session', name }, form).length > 0,
  )
  const countPlayers = (name: string) => players.get(name) ?? 0
  return candidates.toSorted((one, other) => countPlayers(one) - countPlayers(other))[0] ?? null
}

/** Takes the next exchange of a sequence; null after the last one, unless it is repeated. */
function takeNext(run: Run, endpoint: RecordedId, form: string, { scope, owner }: Place): PlayedExchange | null {
  const sequence = run.script.sequence(endpoint, scope, form)
  if (sequence.length === 0) return null
  const key = JSON.stringify([endpoint, owner, form])
  const own = run.progress.get(key) ?? { next: 0, free: [] }
  run.progress.set(key, own)
  const place = own.free.shift() ?? own.next++
  const recorded = sequence[place]
  if (recorded !== undefined) return play(run, recorded, () => own.free.push(place))
  own.next = sequence.length
  const last = sequence.findLast(({ status }) => status < 400)
  const isRepeated = last !== undefined && (last.method === 'GET' || repeated.has(endpoint))
  return isRepeated ? play(run, last, () => {}) : null
}

function play(run: Run, recorded: ScriptedExchange, giveBack: () => void): PlayedExchange {
  const isFirst = !run.played.has(recorded)
  run.played.add(recorded)
  return {
    recorded,
    decisions: recorded.slot_ids.map((id) => run.script.decisions.get(id) ?? null),
    respond(present) {
      const addresses = { recorded: recorded.base_url, present: present.base_url }
      const { body, pairs, isComplete } = substitute(recorded.json, present.body, addresses)
      follow(run, [...pairs, ...pairSlots(recorded, present)])
      return isComplete ? body : null
    },
    release() {
      if (isFirst) run.played.delete(recorded)
      run.counts.refused++
      giveBack()
    },
  }
}

/** The slots of a job, which a pending response may name in a header alone. */
function pairSlots({ slot_ids }: ScriptedExchange, { body, headers }: PresentResponse): [string, string][] {
  const present = listSlots(body, headers)
  return slot_ids.flatMap((id, at): [string, string][] => (present[at] === undefined ? [] : [[id, present[at]]]))
}

function follow({ script, things }: Run, pairs: readonly [recorded: string, present: string][]): void {
  const presentNames = new Map(pairs)
  for (const [name, given] of pairs) {
    const recorded = script.things.get(name)
    if (recorded === undefined) continue
    const present = redactSecrets(presentNames.get(recorded) ?? given)
    things.set(redactSecrets(given), { recorded, present })
  }
}

interface Asked {
  request: ComparedRequest
  form: string
  thing: PresentThing | undefined
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
