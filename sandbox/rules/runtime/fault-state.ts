/** The fault rules in memory and in the store, changed together. */
import type { FaultState, Store } from '#store/store.ts'

export interface FaultStateServices {
  store: Pick<Store, 'findFaults' | 'saveFaults' | 'updateFaults' | 'shared'>
  /** Called when counts cannot be stored. */
  report(error: unknown): void
}

export interface FaultStateHolder {
  readonly current: FaultState
  /** Applies a change, undoes it when it cannot be stored, and resolves to the changed state. */
  change(apply: (before: FaultState) => FaultState): Promise<FaultState>
  /** Stores the counts of all requests of a turn in one write. */
  saveCounts(): void
  restore(): Promise<void>
}

const none: FaultState = { scenario: null, added: 0, rules: [] }

export function createFaultState({ store, report }: FaultStateServices): FaultStateHolder {
  let state = none
  let isSaving = false
  const inTurn = createTurns()
  return {
    get current() {
      return state
    },
    change: store.shared === null ? changeOwn : changeShared,
    saveCounts() {
      if (isSaving) return
      isSaving = true
      const current = () => {
        isSaving = false
        return state
      }
      store.saveFaults(current).catch((error: unknown) => {
        isSaving = false
        report(error)
      })
    },
    restore: () =>
      inTurn(async () => {
        state = keepNumbering(await store.findFaults(), state.added)
      }),
  }

  async function changeOwn(apply: (before: FaultState) => FaultState): Promise<FaultState> {
    const before = state
    const next = apply(before)
    if (next === before) return before
    state = next
    try {
      await store.saveFaults(() => state)
    } catch (error) {
      if (state === next) state = before
      throw error
    }
    return next
  }

  /** Applies a change to the rules that all nodes share. */
  function changeShared(apply: (before: FaultState) => FaultState): Promise<FaultState> {
    return inTurn(async () => {
      let changed = none
      await store.updateFaults((stored) => {
        changed = apply(keepNumbering(stored, state.added))
        return changed
      })
      state = changed
      return changed
    })
  }
}

/** Numbers keep growing after a restore, so that an identifier never names two rules. */
function keepNumbering(stored: FaultState | null, minAdded: number): FaultState {
  const { added, ...rest } = stored ?? none
  return { ...rest, added: Math.max(added, minAdded) }
}

/**
 * Runs the tasks that replace the state with the stored state, one after the other: each sees what the earlier ones
 * stored.
 */
function createTurns() {
  let turn: Promise<unknown> = Promise.resolve()
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = turn.then(work)
    turn = result.catch(() => {})
    return result
  }
}
