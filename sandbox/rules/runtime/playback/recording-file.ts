/** What a start with a recording reads: the file, its age, and the catalogue with the campaigns of its fills. */
import { type Recording, RecordingError, readRecording } from '#contract/recordings/recording.ts'
import type { Creative } from '#domain/catalogue.ts'
import { formatDuration, unitsMs } from '#foundation/duration.ts'
import { TextError } from '#foundation/encoding.ts'
import { systemErrorBehind, systemHint, systemReason } from '#foundation/system-error.ts'
import { readTextFileSync } from '#foundation/text-file.ts'
import { type Demand, readDemand } from '#sandbox/fixtures.ts'
import type { SandboxOptions } from '#sandbox/options.ts'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { createPlayback, type Player } from './playback.ts'
import { createRecordedMedia } from './recorded-media.ts'
import { createScript, type Script } from './script.ts'

/** A recording that may be played without a warning is at most this old, milliseconds. */
const defaultMaxAge_ms = 30 * unitsMs.d

/** What a start plays. */
export interface OpenedRecording {
  player: Player
  warnings: string[]
  /** Returns a catalogue that has the campaigns of the recorded fills too. */
  extendDemand(demand: Demand): Demand
}

/**
 * Reads a recording, from a file or a text. `now_ms` is the time of the system.
 * @throws SandboxError recording_invalid, recording_old
 */
export function openRecording(
  { fallback = false, max_age_ms = defaultMaxAge_ms, strict_age = false }: SandboxOptions,
  playback: string,
  now_ms: number,
): OpenedRecording {
  const file = playback.trimStart().startsWith('{') ? null : playback
  const name = file ?? 'The recording'
  const recording = parse(name, file === null ? playback : readText(file))
  const script = createScript(recording)
  if (script.exchanges.length === 0) throw nothingToPlay(name, recording, script)
  const recorded_at_ms = recording.recorded_at_ms ?? now_ms
  const aging = findAging(name, { age_ms: now_ms - recorded_at_ms, max_age_ms, recorded_at_ms })
  if (aging !== null && strict_age)
    throw new SandboxError('recording_old', `${aging}.`, 'Record it again, or allow more with --max-age.')
  const { sessions, exchanges } = script
  const source = { file, creator: recording.creator, recorded_at_ms, sessions: sessions.length, fallback }
  return {
    player: {
      ...createPlayback(script, fallback),
      source: { ...source, exchanges: exchanges.length },
      media: createRecordedMedia(recording.exchanges, script.campaigns),
    },
    warnings: [...(aging === null ? [] : [`${aging}: record it again`]), ...partWarnings(recording, script)],
    extendDemand: (demand) => extend(demand, script),
  }
}

function readText(file: string): string {
  try {
    return readTextFileSync(file)
  } catch (error) {
    if (error instanceof TextError) {
      const reason = error.message.charAt(0).toLowerCase() + error.message.slice(1)
      throw new SandboxError('recording_invalid', `${file} cannot be read: ${reason}.`, error.hint, { cause: error })
    }
    const system = systemErrorBehind(error)
    const reason = system === null ? (error as Error).message : systemReason(system)
    const hint = system === null ? howToRecord : systemHint(system.code)
    throw new SandboxError('recording_invalid', `${file} cannot be read: ${reason}.`, hint, { cause: error })
  }
}

const howToRecord = 'A recording is a HAR file: of svc requests export, or of the network panel of a browser.'

function parse(name: string, text: string): Recording {
  try {
    return readRecording(text)
  } catch (error) {
    if (!(error instanceof RecordingError)) throw error
    throw new SandboxError('recording_invalid', `${name} ${error.message}.`, howToRecord, { cause: error })
  }
}

function nothingToPlay(
  name: string,
  { left_out, first_unreadable }: Recording,
  { without_body, too_large }: Script,
): SandboxError {
  const facts = [
    [left_out.not_of_api, 'of another API or page'],
    [left_out.preflight, 'preflights'],
    [left_out.no_response, 'without a response'],
    [left_out.unreadable, `not readable (${first_unreadable})`],
    [without_body, 'without the body of their response'],
    [too_large.length, `with a number that is too large (${too_large[0]})`],
  ] as const
  const found = facts.flatMap(([count, what]) => (count === 0 ? [] : `${count} ${what}`)).join(', ')
  const message = `${name} has nothing to play: ${found === '' ? 'it has no entry' : `of its entries, ${found}`}.`
  const hint = without_body > 0 ? 'Record it with the contents of responses.' : howToRecord
  return new SandboxError('recording_invalid', message, hint)
}

/** Returns the start of a sentence about a recording that is too old, else null. */
function findAging(
  name: string,
  { age_ms, max_age_ms, recorded_at_ms }: { age_ms: number; max_age_ms: number; recorded_at_ms: number },
): string | null {
  if (age_ms <= max_age_ms) return null
  const day = new Date(recorded_at_ms).toISOString().slice(0, 10)
  return `${name} is of ${day}, ${formatDuration(age_ms)} old, and at most ${formatDuration(max_age_ms)} is expected`
}

function partWarnings(
  { left_out: { unreadable }, first_unreadable }: Recording,
  { without_body, too_large }: Script,
): string[] {
  return [
    ...(without_body === 0 ? [] : [`${without_body} recorded responses have no body and are not played`]),
    ...too_large
      .slice(0, 1)
      .map(
        (first) =>
          `${too_large.length} recorded fills have a number that is too large and are not played, the first is ${first}`,
      ),
    ...(unreadable === 0
      ? []
      : [`${unreadable} entries cannot be read and are not played, the first is ${first_unreadable}`]),
  ]
}

/** The files of the stand-ins are those of the package, whatever the catalogue is. */
function extend({ data }: Demand, { campaigns }: Script): Demand {
  const standIns = readDemand(undefined).data.campaigns.flatMap(({ creatives }) => creatives)
  const extended = campaigns.extend(data as Parameters<typeof campaigns.extend>[0], standIns as Creative[])
  return { text: JSON.stringify(extended), data: extended }
}
