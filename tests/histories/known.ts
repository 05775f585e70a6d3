/** What a history says about each thing in the state, in the terms of the responses. */
import { type ActionOf, type History, listDone, type Operation, pickKind } from './history.ts'

export interface ConsentSnapshot {
  lifecycle_state: string
  revision: number
  /** `none`: nothing is stored, and the settings of the project imply a consent. */
  source: string
  purposes: { semantic_targeting: boolean; prompt_shared: boolean }
}

export interface DecisionBody {
  slot_id: string
  /** All slots of the request, where it asked for more than one. */
  slot_ids?: readonly string[]
  status?: string
  decision: {
    fill: boolean
    format?: string | null
    asset_token?: string | null
    cs_declaration?: string
    dimensions?: { width: number; height: number }
    duration_ms?: number | null
  } | null
  authoritative_consent?: ConsentSnapshot
}

/** A response that has the decision of a slot. */
export interface View {
  operation: Operation<ActionOf<'place' | 'poll'>>
  slot_id: string
  /** The decision has expired since. */
  isExpired: boolean
  fill: boolean
  format: string | null
  asset_token: string | null
  declared: string | null
  /** Of the creative: CSS pixels, and the length of a clip. */
  creative: { width: number; height: number; duration_ms: number | null } | null
  consent: ConsentSnapshot | null
}

export const readSlots = (history: History) => listDone<DecisionBody, ActionOf<'place'>>(pickKind(history, 'place'))

export const readPolls = (history: History) => listDone<DecisionBody, ActionOf<'poll'>>(pickKind(history, 'poll'))

/** The decisions that readers were given, by slot. */
export function readViews(history: History): Map<string, View[]> {
  const views = [...readSlots(history), ...readPolls(history)].flatMap((operation): View[] => {
    const { slot_id, status, decision, authoritative_consent: consent = null } = operation.body
    if (decision === null) return []
    const { fill, format = null, asset_token = null, cs_declaration: declared = null } = decision
    const { dimensions, duration_ms = null } = decision
    const creative = dimensions === undefined ? null : { ...dimensions, duration_ms }
    const isExpired = status === 'expired'
    return [{ operation, slot_id, isExpired, fill, format, asset_token, declared, creative, consent }]
  })
  return Map.groupBy(views, ({ slot_id }) => slot_id)
}

/** A revision of consent that a response had. */
export interface ConsentView extends ConsentSnapshot {
  operation: Operation<ActionOf<'consent' | 'place'>>
  /** Project and session. */
  session: string
}

export const sessionName = ({ project, session }: { project: string; session: string }) => `${project}/${session}`

/** The revisions that responses to changes had, and those by which placements were decided at once; 0 where none is stored. */
export function readRevisions(history: History): Map<string, ConsentView[]> {
  const changes = listDone<{ authoritative_consent: ConsentSnapshot }, ActionOf<'consent'>>(
    pickKind(history, 'consent'),
  )
  const placed = readSlots(history).filter(({ body }) => body.decision !== null)
  const views = [...changes, ...placed].flatMap((operation): ConsentView[] => {
    const snapshot = operation.body.authoritative_consent
    if (snapshot === undefined || snapshot === null) return []
    const revision = snapshot.source === 'none' ? 0 : snapshot.revision
    return [{ ...snapshot, revision, operation, session: sessionName(operation.action) }]
  })
  return Map.groupBy(views, ({ session }) => session)
}

export const describe = ({ number, client, node }: Operation) => `operation ${number} (client ${client}, node ${node})`
