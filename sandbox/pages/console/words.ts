/** What the console says, in words: states with their reasons, times. */
import { noFillReasons } from '#contract/no-fill.ts'
import {
  describeBlock,
  describeEnding,
  describeRendererError,
  type ErrorWords,
  findBlockFix,
  isReasonCode,
  type ReportedError,
} from '#contract/words/renderer-errors.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { Channel } from './channel.ts'
import { listEvents, type Slot } from './slots.ts'

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'money'

/** A state as it is shown: its chip, and a sentence that says why. */
export interface Wording {
  tone: Tone
  chip: string
  /** The stable code of its reason; null for a state without one. */
  reason: string | null
  text: string
  /** Of an error: the fields that are wrong, the fix, and where more is said. */
  details?: ErrorWords
}

export function describeState(slot: Slot): Wording {
  const { state, ad } = slot
  const format = findEntry(formats, ad?.placement.format ?? '') ?? 'An ad'
  switch (state.outcome) {
    case 'pending':
      return { tone: 'warn', chip: 'pending', ...describeWait(state.stage, ad?.measure()?.width_px) }
    case 'fill': {
      if (!state.isViewed)
        return { tone: 'good', chip: 'fill', reason: null, text: `${format} is shown. It has not been viewed yet.` }
      const text = `${format} is shown, and has been viewed.`
      const lost = findLostView(slot)
      return lost === null
        ? { tone: 'good', chip: 'viewed', reason: null, text }
        : { tone: 'bad', chip: 'viewed', reason: lost, text: `${text} ${lostView}` }
    }
    case 'no_fill':
      return { tone: 'warn', chip: 'no-fill', reason: state.reason, text: explainNoFill(state.reason) }
    case 'blocked':
      return {
        tone: 'bad',
        chip: 'blocked',
        reason: state.reason,
        text: [describeBlock(state), findBlockFix(state)].filter(Boolean).join(' '),
      }
    case 'error':
      return describeError(state)
    case 'ended': {
      const text = describeEnding(state.reason)
      return {
        tone: 'plain',
        chip: 'ended',
        reason: state.reason,
        text: state.isViewed ? `${text} It was viewed.${findLostView(slot) === null ? '' : ` ${lostView}`}` : text,
      }
    }
  }
}

const lostView = 'The service has not accepted that view: nothing is counted for it.'

/** Returns why the service does not have the view of an ad, by the last verdict on its visible beacon; null when it has. */
function findLostView(slot: Slot): string | null {
  const last = listEvents(slot, 'beacon').findLast(({ event }) => event === 'visible')
  return last === undefined || last.accepted ? null : last.reason_code
}

/** `width_px`: of its frame, once it is mounted. */
function describeWait(stage: 'requesting' | 'loading', width_px: number | undefined): Pick<Wording, 'reason' | 'text'> {
  if (stage === 'requesting') return { reason: stage, text: 'Waiting for the decision.' }
  if (width_px !== 0) return { reason: stage, text: 'Decided. Its frame is loading.' }
  const text = 'Decided. Its slot has no room: nothing is painted or counted before it is displayed, with a width.'
  return { reason: 'no_room', text: `${text} Is it display: none?` }
}

/** A cause that the contract knows says more than the code of the renderer. */
function describeError(error: ReportedError): Wording {
  const details = describeRendererError(error)
  const { code, reason_code } = error
  const reason = reason_code !== undefined && isReasonCode(reason_code) ? reason_code : code
  return { tone: 'bad', chip: 'error', reason, text: details.message, details }
}

const formats: Readonly<Record<string, string>> = { banner: 'A banner', clip: 'A clip', native: 'A native ad' }

function explainNoFill(reason: string): string {
  return findEntry(noFillReasons, reason)?.meaning ?? 'The service decided without an ad.'
}

export function describeChannel(state: Channel['state'], base_url: string): { tone: Tone; chip: string; text: string } {
  const only = 'This is what the page alone knows.'
  switch (state.status) {
    case 'opening':
      return { tone: 'plain', chip: 'connecting', text: '' }
    case 'live':
      return { tone: 'good', chip: 'live', text: '' }
    case 'silent':
      return {
        tone: 'warn',
        chip: 'page only',
        text: `${base_url} does not answer: it is not running, or no project allows ${location.origin}. ${only}`,
      }
    case 'refused':
      return {
        tone: 'warn',
        chip: 'page only',
        text: `${base_url} has no console for this page (${state.http_status}). ${only}`,
      }
    case 'csp_blocked':
      return { tone: 'warn', chip: 'page only', text: `connect-src of the page does not allow ${base_url}. ${only}` }
  }
}

/** `0.42 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 0)} s`
}

/** `4:31`, `2 h 10 min`, `13 days`: how much time is left; `over` when none is. */
export function timeLeft(ms: number): string {
  const whole = Math.floor(ms / 1_000)
  if (whole <= 0) return 'expired'
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes}:${String(whole % 60).padStart(2, '0')}`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}

/** Returns the lines below an error: each invalid field, the fix. */
export function listErrorLines({ causes, fix }: ErrorWords): string[] {
  return [...causes, ...(fix === null ? [] : [fix])]
}

/** Returns the addresses at which the sandbox says more of an error: the page of its code, and the request in the inspector. */
export function findErrorLinks(
  { topic, request_id }: ErrorWords,
  base_url: string,
): { docs: string; request?: string } {
  const docs = `${base_url}/_sandbox/docs/${topic}`
  return request_id === null ? { docs } : { docs, request: `${base_url}/_sandbox/requests/${request_id}` }
}
