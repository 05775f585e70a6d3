/** The states of a turn, in the order of its way; the last ones are final until it is started again. */
export type LastState = 'blocked' | 'no_fill' | 'failed' | 'cleared' | 'cancelled' | 'expired'
type RunningState = 'idle' | 'consent_check' | 'requesting' | 'filled' | 'mounting' | 'rendered' | 'finishing'
export type TurnState = RunningState | LastState

export function isLast(state: TurnState): state is LastState {
  return ['blocked', 'no_fill', 'failed', 'cleared', 'cancelled', 'expired'].includes(state)
}
