/** The options of the API: a name that is none of them is reported, since a misspelt one would be ignored in silence. */
import type { Emit } from './events.ts'
import type { RenderOptions } from './placement.ts'
import type { TurnOptions } from './turn.ts'

const turnOptions = [
  'target',
  'endpoint',
  'body',
  'headers',
  'credentials',
  'turnId',
  'authoritative_consent',
  'beaconToken',
  'signal',
  'keepMounted',
  'debug',
] as const
const renderOptions = ['target', 'response', 'placement', 'authoritative_consent', 'session_id'] as const

/** Fails to compile when an option is missing above. */
type Complete<Options, Listed> = Exclude<keyof Options, Listed> extends never ? readonly string[] : never
const optionsByCall: {
  turn: Complete<TurnOptions, (typeof turnOptions)[number]>
  render: Complete<RenderOptions, (typeof renderOptions)[number]>
} = { turn: turnOptions, render: renderOptions }

/** Emits an error with the names that are no options of a call. What comes of the call is the same with and without them. */
export function checkOptions(call: keyof typeof optionsByCall, given: object, emit: Emit): void {
  const known = [...optionsByCall[call]]
  const got = Object.keys(given).filter((name) => !known.includes(name) && given[name as never] !== undefined)
  if (got.length > 0) emit('error', { code: 'option_unknown', got, known })
}
