/** What clients know of a recorded sandbox: what each response has acknowledged. */

export type Acknowledgement =
  | { kind: 'placement'; slot_id: string; isFilled: boolean }
  | { kind: 'beacon'; slot_id: string; beacon_id: string }
  | { kind: 'consent'; session_id: string; revision: number }
  | { kind: 'settings'; client_id: string; revision: number }
  | { kind: 'token'; name: string; isRevoked: boolean }
  /** Nothing else is under way from here until the next one, by which the state is replaced or copied. */
  | { kind: 'begin'; next: StateChange }
  /** Nobody knows which of two states the snapshot has. */
  | { kind: 'doubt'; name: string }
  | StateChange

export type StateChange = { kind: 'snapshot'; name: string } | { kind: 'reset' } | { kind: 'restore'; name: string }

/** What a state must have in it: `placement slot_1 true`, `beacon slot_1 b-1`, `consent session-1 2`. */
export interface State {
  facts: Set<string>
  /** The least revision of the settings, by project. */
  revisions: Map<string, number>
}

export interface Known {
  /** The present state, or that and the one that replaces it now. */
  states: readonly State[]
  snapshots: ReadonlyMap<string, State>
  /** Tokens of the control plane, and whether each is revoked: by nothing that is replaced. */
  tokens: ReadonlyMap<string, boolean>
}

export function createKnown() {
  let present = emptyState()
  let next: State | null = null
  const snapshots = new Map<string, State>()
  const tokens = new Map<string, boolean>()

  return {
    known: (): Known => ({ states: next === null ? [present] : [present, next], snapshots, tokens }),
    /** Facts are only added while nothing replaces the state. */
    learn(acknowledged: Acknowledgement): void {
      switch (acknowledged.kind) {
        case 'begin':
          next = replacedBy(acknowledged.next)
          return
        case 'doubt':
          snapshots.delete(acknowledged.name)
          return
        case 'snapshot':
          snapshots.set(acknowledged.name, copyState(present))
          return
        case 'reset':
        case 'restore':
          present = replacedBy(acknowledged) ?? present
          next = null
          return
        case 'settings':
          present.revisions.set(
            acknowledged.client_id,
            Math.max(acknowledged.revision, present.revisions.get(acknowledged.client_id) ?? 0),
          )
          return
        case 'token':
          tokens.set(acknowledged.name, acknowledged.isRevoked)
          return
        default:
          present.facts.add(nameFact(acknowledged))
      }
    },
  }

  function replacedBy(change: StateChange): State | null {
    if (change.kind === 'reset') return emptyState()
    return change.kind === 'restore' ? copyState(snapshots.get(change.name) ?? emptyState()) : null
  }
}

export function nameFact(fact: Extract<Acknowledgement, { kind: 'placement' | 'beacon' | 'consent' }>): string {
  if (fact.kind === 'placement') return `placement ${fact.slot_id} ${fact.isFilled}`
  if (fact.kind === 'beacon') return `beacon ${fact.slot_id} ${fact.beacon_id}`
  return `consent ${fact.session_id} ${fact.revision}`
}

function emptyState(): State {
  return { facts: new Set(), revisions: new Map() }
}

function copyState({ facts, revisions }: State): State {
  return { facts: new Set(facts), revisions: new Map(revisions) }
}

/** Returns what of a state is not there; null when all of it is. */
export function findMissing(required: State, found: State): string | null {
  for (const fact of required.facts) if (!found.facts.has(fact)) return fact
  for (const [client_id, revision] of required.revisions) {
    if ((found.revisions.get(client_id) ?? 0) < revision) return `settings ${client_id} ${revision}`
  }
  return null
}
