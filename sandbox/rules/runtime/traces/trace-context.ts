/** W3C Trace Context, https://www.w3.org/TR/trace-context/: read from requests, kept with placements, sent with callbacks. */

import { findPersonalData } from '#foundation/personal-data/personal-data.ts'
import { redactSecrets } from '#foundation/redaction.ts'

export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  trace_id: string
  /** The span that what follows is a child of: 16 lower-case hexadecimal digits. */
  span_id: string
  /** Bit 0: whether the caller records the trace. Bit 1: whether its id is random. */
  flags: number
  /** `tracestate`: what vendors need, passed on; null without a valid one. */
  state: string | null
}

/** As a job keeps it. */
export interface StoredTrace {
  traceparent?: string
  tracestate?: string
}

/** The flags that version 00 of traceparent knows. */
const knownFlags = 3
/** Every participant has to pass on as many characters of a tracestate. */
const maxStateCharacters = 512
const maxStateMembers = 32

const parentText = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[^,]*)?$/
const stateMember =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** Returns the context of the two headers. A malformed traceparent counts as none, and without one tracestate does. */
export function readTraceContext(traceparent: string | undefined, tracestate: string | undefined): TraceContext | null {
  const found = traceparent === undefined ? null : parentText.exec(traceparent.trim())
  if (found === null) return null
  const [, version, trace_id, span_id, flags, more] = found
  // A later version may say more; ff is none, and 00 has no more.
  if (version === 'ff' || (version === '00' && more !== undefined)) return null
  if (/^0+$/.test(trace_id!) || /^0+$/.test(span_id!)) return null
  return {
    trace_id: trace_id!,
    span_id: span_id!,
    flags: Number.parseInt(flags!, 16) & knownFlags,
    state: tracestate === undefined ? null : readState(tracestate),
  }
}

/**
 * Returns the members of a tracestate that are passed on; null when one of them is malformed, or a key is twice. Callbacks carry
 * it elsewhere, so a member with a key, a token or personal data is left out.
 */
function readState(text: string): string | null {
  const members = text
    .split(',')
    .map((member) => member.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, ''))
    .filter((member) => member !== '')
  const keys = new Set(members.map((member) => member.split('=', 1)[0]))
  if (members.length === 0 || members.length > maxStateMembers || keys.size < members.length) return null
  if (!members.every((member) => stateMember.test(member))) return null
  const passed = members.filter((member) => redactSecrets(member) === member && findPersonalData(member).length === 0)
  // The newest are on the left.
  while (passed.join(',').length > maxStateCharacters) passed.pop()
  return passed.length === 0 ? null : passed.join(',')
}

function formatTraceparent({ trace_id, span_id, flags }: TraceContext): string {
  return `00-${trace_id}-${span_id}-${flags.toString(16).padStart(2, '0')}`
}

export function toStoredTrace(context: TraceContext | null): StoredTrace {
  if (context === null) return {}
  const { state } = context
  return { traceparent: formatTraceparent(context), ...(state === null ? {} : { tracestate: state }) }
}

/** Returns the trace of a job; null when it was created outside any. */
export function readStoredTrace({ traceparent, tracestate }: StoredTrace): TraceContext | null {
  return readTraceContext(traceparent, tracestate)
}
