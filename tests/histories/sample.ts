/** A short history that keeps everything, as a value of its own each time: what is altered in one is not in the next. */
import { createHash } from 'node:crypto'
import type { Action, History, Operation, Outcome } from './history.ts'
import type { ChainEntry, State, StateBeacon, StateSlot } from './state.ts'

export interface Sample {
  history: History & { operations: Operation[] }
  state: State
}

const project = 'proj_demo'

const granted = {
  lifecycle_state: 'granted',
  revision: 1,
  source: 'svc_consent',
  purposes: { semantic_targeting: true, prompt_shared: true },
}
const denied = {
  lifecycle_state: 'denied',
  revision: 2,
  source: 'svc_consent',
  purposes: { semantic_targeting: false, prompt_shared: false },
}

const creative = { dimensions: { width: 300, height: 250 } }
const fill = { fill: true, ...creative, format: 'banner', asset_token: 'ast_1', cs_declaration: 'CS-S (S1/P1)' }
const settings = { viewability: { duration_ms: 1_000 } }
const noFill = { fill: false, asset_token: null, cs_declaration: 'CS-S (S0/P0)' }

/** Beacons of the same body are sent three times: once without a response, and once to another node. */
export function createSample(): Sample {
  const operations = [
    done({ kind: 'consent', project, session: 's-1', decision: 'personalized' }, { authoritative_consent: granted }),
    done(
      { kind: 'place', project, session: 's-1', consent: null, wait_ms: 1_500 },
      { slot_id: 'slot_1', decision: fill, authoritative_consent: granted },
    ),
    unknown({ kind: 'beacon', slot_id: 'slot_1', beacon_id: 'beacon-1', event: 'render' }),
    done({ kind: 'beacon', slot_id: 'slot_1', beacon_id: 'beacon-1', event: 'render' }, { duplicate: false }),
    done({ kind: 'beacon', slot_id: 'slot_1', beacon_id: 'beacon-1', event: 'render' }, { duplicate: true }),
    done({ kind: 'place', project, session: 's-1', consent: null, wait_ms: 0 }, { slot_id: 'slot_2', decision: null }),
    done({ kind: 'consent', project, session: 's-1', decision: 'denied' }, { authoritative_consent: denied }),
    done(
      { kind: 'poll', slot_id: 'slot_2', wait_ms: 2_000 },
      { slot_id: 'slot_2', decision: noFill, authoritative_consent: denied },
    ),
    done({ kind: 'settings', project, change: '150' }, { config_revision: 1, settings }),
    done({ kind: 'read_settings', project }, { config_revision: 1, settings }),
    done({ kind: 'read_consent', project, session: 's-1' }, { items: [{ revision: 2 }, { revision: 1 }] }),
    done(
      { kind: 'read_beacon', beacon_id: 'beacon-1' },
      { items: [{ verdict: 'duplicate' }, { verdict: 'accepted' }] },
    ),
    done(
      { kind: 'poll', slot_id: 'slot_1', wait_ms: 0 },
      { slot_id: 'slot_1', decision: fill, authoritative_consent: granted },
    ),
  ].map(
    (each, index): Operation => ({
      ...each,
      ...{
        number: index + 1,
        client: index % 3,
        node: index % 2,
        called: index * 6_000,
        ended: index * 6_000 + 5,
      },
    }),
  )
  const state = createState()
  const read = { kind: 'read_chain', project, after_seq: 0 } as const
  const entries = state.chains.get(project)!
  operations.push({
    ...operations[0]!,
    ...done(read, { entries: [...entries], next_seq: null }),
    number: 14,
    called: 78_000,
    ended: 78_005,
  })
  const followed = [0, 1].map((follower) => ({
    follower,
    connections: 1,
    events: state.events.map((event) => ({ ...event, client_id: project, data: {} })),
  }))
  const callbacks = [{ slot_id: 'slot_2', body: noFill }]
  return { history: { operations, followed, callbacks, frames: new Map(), stale: 5_000 }, state }
}

function done(action: Action, body: unknown): { action: Action; outcome: Outcome } {
  return { action, outcome: { kind: 'done', body } }
}

function unknown(action: Action): { action: Action; outcome: Outcome } {
  return { action, outcome: { kind: 'unknown', why: '503 storage_unavailable' } }
}

function createState(): State {
  const types = ['consent.changed', 'job.created', 'placement.decided', 'beacon.accepted', 'beacon.duplicate']
  const later = ['job.created', 'consent.changed', 'placement.decided']
  const slots = [null, 'slot_1', 'slot_1', 'slot_1', 'slot_1', 'slot_2', null, 'slot_2']
  return {
    slots: [
      { ...slot, slot_id: 'slot_1', job_id: 'job_1', fill: true, format: 'banner' },
      { ...slot, slot_id: 'slot_2', job_id: 'job_2', fill: false, format: null },
    ],
    beacons: [
      { ...beacon },
      { ...beacon, verdict: 'duplicate', reason_code: 'DUPLICATE', metric: null, would_bill: false },
    ],
    consents: [granted, denied].map(({ lifecycle_state, revision, purposes }) => ({
      ...{ client_id: project, session_id: 's-1', revision, lifecycle_state, is_current: revision === 2 },
      semantic_targeting: purposes.semantic_targeting,
    })),
    chains: new Map([[project, linkEntries(sampleEntries)]]),
    revisions: new Map([[project, 1]]),
    reports: [null, project].map((client_id) => ({
      client_id,
      report: {
        lines: [{ client_id: project, metric: 'rendered_impression', count: 1 }],
        not_counted: { reasons: [{ reason_code: 'DUPLICATE', count: 1 }] },
      },
    })),
    isFinal: true,
    callbacks: [{ slot_id: 'slot_2', status: 'delivered' }],
    events: [...types, ...later].map((type, index) => ({ seq: index + 1, type, slot_id: slots[index]! })),
  }
}

const slot: Omit<StateSlot, 'slot_id' | 'job_id' | 'fill' | 'format'> = {
  ...{ client_id: project, session_id: 's-1', created_at_ms: 0, decided_at_ms: 1_000 },
}

const beacon: StateBeacon = {
  ...{ slot_id: 'slot_1', client_id: project, beacon_id: 'beacon-1', event: 'render', verdict: 'accepted' },
  ...{
    reason_code: 'OK',
    would_bill: true,
    metric: 'rendered_impression',
    occurred_at_ms: 2_000,
    received_at_ms: 2_500,
  },
}

/** What the entries of the chain record. */
export const sampleEntries: readonly object[] = [
  { kind: 'consent', session_id: 's-1', revision: 1, lifecycle_state: 'granted' },
  { kind: 'decision', slot_id: 'slot_1', fill: true, consent_revision: 1 },
  { kind: 'beacon', slot_id: 'slot_1', beacon_id: 'beacon-1' },
  { kind: 'consent', session_id: 's-1', revision: 2, lifecycle_state: 'denied' },
  { kind: 'decision', slot_id: 'slot_2', fill: false, consent_revision: 2 },
]

/** Numbers entries and links them by their hashes. */
export function linkEntries(facts: readonly object[]): ChainEntry[] {
  let hash = '0'.repeat(64)
  return facts.map((fact, index) => {
    const entry = JSON.stringify({ ...fact, client_id: project, seq: index + 1 })
    hash = createHash('sha256')
      .update(hash + entry)
      .digest('hex')
    return { seq: index + 1, entry, hash }
  })
}
