/**
 * What a store decides, whatever its database and however many nodes share it: each rule throws when the store breaks it.
 * Writes race in both ways that there are: `Promise.all` on one node, whose group commit takes them together, and `overlap`
 * on two nodes, whose transactions are under way at the same time.
 */
import { deepEqual, equal, notEqual, rejects } from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import { genesis, linkProblem } from '#contract/resources/evidence.ts'
import { defaultSettings } from '#contract/resources/projects.ts'
import type { ConsentRecord } from '#domain/consent.ts'
import type { CapGuard, DecisionWrite, EvidenceDraft, ProjectRow, Store, StoredDecision } from '#store/store.ts'

export interface StoreNodes {
  /** Two nodes of one database; the same store twice where one process owns it. */
  one: Store
  other: Store
  /** Resolves to the results of two writes that are both under way before either is committed. */
  overlap<Result>(first: () => Promise<Result>, second: () => Promise<Result>): Promise<[Result, Result]>
}

export type StoreRule = (on: StoreNodes) => Promise<void>

/** Rules of every store, by what they say. */
export const storeRules = {
  async 'a beacon_id counts once for its slot, and not for one that is gone'({ one, other, overlap }) {
    const project = await newProject(one)
    const [slot_id] = (await place(one, project)).slot_ids
    const send = (store: Store, beacon_id: string) => record(store, project, slot_id!, beacon_id)
    equal(count(await Promise.all([send(one, 'a'), send(one, 'a'), send(one, 'a')])), 1)
    equal(
      count(
        await overlap(
          () => send(one, 'b'),
          () => send(other, 'b'),
        ),
      ),
      1,
    )
    equal(await send(other, 'a'), null)
    equal(await record(one, project, newId(one), 'a'), null)
    deepEqual(
      (await one.listSlotBeacons(slot_id!)).map(({ beacon_id }) => beacon_id),
      ['a', 'b'],
    )
    deepEqual(
      (await one.listSlotEvidence(slot_id!)).map(({ kind }) => kind),
      ['decision', 'beacon', 'beacon'],
    )
  },

  async 'a consent is written only onto the record that was read'({ one, other, overlap }) {
    const { id: project_id } = await newProject(one)
    const save = (store: Store, expected: ConsentRecord | null, renews: boolean, updated_at_ms: number) => {
      const revision = expected === null ? 1 : expected.revision + (renews ? 0 : 1)
      return store.saveConsent({
        ...{ id: newId(store), project_id, session_id: 's', expected, evidence: evidence('consent') },
        draft: {
          ...{ revision, renews, state: 'granted', source: 'none', semantic_targeting: true, prompt_shared: false },
          ...{ extras: '{}', updated_at_ms, expires_at_ms: updated_at_ms + 1_000 },
        },
      })
    }
    const races: Awaited<ReturnType<typeof save>>[][] = []
    const newest = async () => (await other.findLatestConsent(project_id, 's'))!
    races.push(
      await overlap(
        () => save(one, null, false, 1),
        () => save(other, null, false, 2),
      ),
    )
    const first = await newest()
    // A renewal keeps the revision: the time of the update shows that the record is another one.
    races.push(await Promise.all([save(one, first, true, 11), save(one, first, true, 12)]))
    const renewed = await newest()
    races.push(
      await overlap(
        () => save(one, renewed, true, 21),
        () => save(other, renewed, true, 22),
      ),
    )
    const again = await newest()
    races.push(await Promise.all([save(one, again, false, 31), save(one, again, false, 32)]))
    deepEqual(races.map(count), [1, 1, 1, 1])
    equal(await save(other, first, true, 41), null)
    const { rows } = await one.listConsent({ limit: 10, before: null, project_id })
    deepEqual(
      rows.map(({ revision, is_current }) => [revision, is_current]),
      [
        [2, true],
        [1, false],
      ],
    )
  },

  async 'the evidence of a project is one chain, also after a write that fails'({ one, other, overlap }) {
    const project = await newProject(one)
    await Promise.all([place(one, project, { slots: 2 }), place(one, project)])
    await overlap(
      () => place(one, project),
      () => place(other, project, { slots: 2 }),
    )
    const failing = place(one, project, { slots: 2, fails: true })
    await Promise.all([place(one, project), rejects(failing, /cannot be built/), place(one, project)])
    await place(other, project)
    const chain = await one.listChainEntries(project.id, 0, 100)
    let previous = genesis
    for (const [index, entry] of chain.entries()) {
      equal(linkProblem(entry, index + 1, previous, sha256Hex), null)
      previous = entry.hash
    }
    equal(chain.length, 9)
  },

  async 'a write that fails leaves nothing'({ one }) {
    const project = await newProject(one)
    const [slot_id] = (await place(one, project)).slot_ids
    const failing = record(one, project, slot_id!, 'failing', 'render', newId(one), failingEvidence)
    const [, sent] = await Promise.all([rejects(failing, /cannot be built/), record(one, project, slot_id!, 'sent')])
    equal(sent?.length, 1)
    deepEqual(
      (await one.listSlotBeacons(slot_id!)).map(({ beacon_id }) => beacon_id),
      ['sent'],
    )
  },

  async 'the last fill that a cap leaves is made once'({ one, other, overlap }) {
    const project = await newProject(one)
    const fills = (session_id: string | null): CapGuard =>
      ({ kind: 'fills', project_id: project.id, session_id, since_ms: 0, most: 1 }) as const
    const interval = (session_id: string, job_id = 0, jobs = 3): CapGuard =>
      ({ kind: 'interval', project_id: project.id, session_id, job_id, jobs }) as const
    const ask = async (store: Store, session_id: string, cap: CapGuard) =>
      (await place(store, project, { session_id, caps: [cap] })).isCreated
    for (const cap of [fills, interval]) {
      const [together, apart] = [`${cap.name}-together`, `${cap.name}-apart`] as const
      const same = await Promise.all([ask(one, together, cap(together)), ask(one, together, cap(together))])
      const both = await overlap(
        () => ask(one, apart, cap(apart)),
        () => ask(other, apart, cap(apart)),
      )
      deepEqual([same.filter(Boolean).length, both.filter(Boolean).length], [1, 1], cap.name)
    }
    const { rows } = await one.listSlots({ limit: 10, before: null, project_id: project.id })
    equal(rows.length, 4)
    equal(await ask(one, 'any', fills(null)), false)
    const pending = await Promise.all([1, 2].map(() => place(one, project, { session_id: 'late', isPending: true })))
    const [a, b] = pending.map(({ slot_ids }) => slot_ids[0]!)
    const bind = (store: Store, slot_id: number) => store.bindDecision(decisionFor(slot_id, [fills('late')]))
    deepEqual(
      (
        await overlap(
          () => bind(one, a!),
          () => bind(other, b!),
        )
      ).toSorted(),
      ['bound', 'capped'],
    )
    // The slots of one job are one prompt, and a prompt may be decided after a later one.
    const paced: Awaited<ReturnType<typeof place>>[] = []
    for (let prompt = 0; prompt < 4; prompt++) {
      paced.push(await place(one, project, { session_id: 'paced', slots: 2, isPending: true }))
    }
    for (const [prompt, bound] of [
      [0, 'bound'],
      [3, 'bound'],
      [1, 'capped'],
      [2, 'capped'],
    ] as const) {
      const { job_id, slot_ids } = paced[prompt]!
      const caps = [interval('paced', job_id, 1)]
      const bind = (slot_id: number) => one.bindDecision(decisionFor(slot_id, caps))
      deepEqual([prompt, ...(await Promise.all(slot_ids.map(bind)))], [prompt, bound, bound])
    }
  },

  async 'a pending decision is bound once'({ one, other, overlap }) {
    const project = await newProject(one)
    const [a, b] = (await place(one, project, { slots: 2, isPending: true })).slot_ids
    const bind = (store: Store, slot_id: number, label_text: string) =>
      store.bindDecision({ ...decisionFor(slot_id), decision: { ...fill(), label_text } })
    const races = [
      await Promise.all([bind(one, a!, 'first'), bind(one, a!, 'second')]),
      await overlap(
        () => bind(one, b!, 'first'),
        () => bind(other, b!, 'second'),
      ),
    ]
    deepEqual(races, [
      ['bound', 'decided'],
      ['bound', 'decided'],
    ])
    equal(await bind(other, a!, 'third'), 'decided')
    for (const slot_id of [a!, b!]) {
      equal((await one.findSlot(slot_id))?.decision?.label_text, 'first')
      equal((await one.listSlotEvidence(slot_id)).length, 1)
    }
  },

  async 'a decision is written only with the consent that is in force'({ one, other }) {
    const project = await newProject(one)
    const session = { project_id: project.id, session_id: 's' }
    const { stored, purposes, consent } = buildDenial(one, session)
    const [slot_id] = (await place(one, project, { session_id: 's', isPending: true })).slot_ids
    const [saved, placed, bound] = await Promise.all([
      one.saveConsent(consent),
      place(one, project, { session_id: 's' }),
      one.bindDecision({ ...decisionFor(slot_id!), session }),
    ])
    deepEqual([saved?.revision, placed.isCreated, bound], [1, false, 'superseded'])
    const decision = {
      ...fill(),
      consent: { ...fill().consent, ...purposes, ...stored, lifecycle_state: 'denied' },
    } as const
    equal(await other.bindDecision({ ...decisionFor(slot_id!), session, decision }), 'bound')
  },

  async 'a beacon is written only with the consent that is in force'({ one, other }) {
    const project = await newProject(one)
    const session = { project_id: project.id, session_id: 's' }
    const [slot_id] = (await place(one, project, { session_id: 's' })).slot_ids
    const { consent } = buildDenial(one, session)
    const send = (store: Store, beacon_id: string, known: ConsentRecord | null) => {
      const id = newId(store)
      const times = { occurred_at_ms: now_ms, received_at_ms: now_ms }
      const body = { body_sha256: sha256Hex(beacon_id), measurements: null, extras: '{}' }
      const beacon = { id, slot_id: slot_id!, beacon_id, event: 'render', ...times, ...body } as const
      return store.recordBeacon(beacon, { session, consent: known }, evidence('beacon', id))
    }
    const before = send(one, 'before', null)
    const [saved, late] = await Promise.all([one.saveConsent(consent), send(one, 'late', null)])
    deepEqual([Array.isArray(await before), saved?.revision, late], [true, 1, 'superseded'])
    equal(await send(other, 'late', null), 'superseded')
    deepEqual(
      (await one.listSlotBeacons(slot_id!)).map(({ beacon_id }) => beacon_id),
      ['before'],
    )
    equal(((await send(other, 'late', saved)) as readonly unknown[]).length, 2)
  },

  async 'events are numbered without a gap, in the same order on every node'({ one, other, overlap }) {
    const project = await newProject(one)
    await agree(one, other)
    const start = one.lastEventSeq()
    const emit = (store: Store) =>
      store.appendEvent({ type: 'clock.changed', at_ms: now_ms, project_id: null, slot_id: null, ref: nextId() })
    await Promise.all([emit(one), place(one, project, { slots: 3 }), emit(one)])
    await overlap(
      () => emit(one),
      () => emit(other),
    )
    const failing = place(one, project, { slots: 2, fails: true })
    await Promise.all([emit(one), rejects(failing, /cannot be built/), emit(one)])
    await emit(other)
    await agree(one, other)
    const [events, same] = await Promise.all([one.events(start, 100), other.events(start, 100)])
    deepEqual(
      events.map(({ seq }) => seq - start),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    )
    deepEqual(events, same)
    equal(one.lastEventSeq(), start + 10)
  },

  async 'a report counts what is in its scope, each beacon once'({ one, other }) {
    const [project, another] = [await newProject(one), await newProject(one)]
    const [slot_id] = (await place(one, project, { session_id: 's' })).slot_ids
    const [elsewhere] = (await place(one, another, { session_id: 's' })).slot_ids
    await record(one, another, elsewhere!, 'elsewhere')
    for (const [name, event] of [
      ['a', 'render'],
      ['b', 'render'],
      ['c', 'heartbeat'],
    ] as const) {
      await record(one, project, slot_id!, name, event)
    }
    for (const _ of [1, 2, 3]) {
      await other.recordUnaccepted({
        ...{ id: newId(other), verdict: 'duplicate', project_id: project.id, slot_id: slot_id!, beacon_id: 'a' },
        ...{ event: 'render', occurred_at_ms: now_ms, received_at_ms: now_ms, reason_code: 'DUPLICATE' },
      })
    }
    const scope = { project_id: project.id }
    for (const store of [one, other]) {
      const { counted, missed, newest } = await store.countBilling(scope, 5)
      deepEqual(
        counted.map(({ metric, count: of }) => [metric, of]),
        [['rendered_impression', 1]],
      )
      deepEqual(
        missed.toSorted((a, b) => a.count - b.count),
        [
          { reason_code: 'ALREADY_COUNTED', count: 1 },
          { reason_code: 'DUPLICATE', count: 3 },
        ],
      )
      equal(newest.length, 1)
    }
    deepEqual((await one.countBilling({ ...scope, session_id: 'absent' }, 5)).counted, [])
    deepEqual((await one.countBilling({ ...scope, since_ms: now_ms + 1 }, 5)).counted, [])
  },

  async 'a report that goes on from an earlier one is that of all beacons'({ one, other, overlap }) {
    const project = await newProject(one)
    const scope = { project_id: project.id }
    const sorted = async (store: Store, since: { since_ms?: number } = {}) => {
      const { counted, missed, newest } = await store.countBilling({ ...scope, ...since }, 3)
      const texts = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()
      return [texts(counted), texts(missed), newest]
    }
    const compare = async () => {
      for (const store of [one, other]) deepEqual(await sorted(store), await sorted(store, { since_ms: 0 }))
    }
    const { slot_ids } = await place(one, project, { slots: 8 })
    const [first, second, third] = slot_ids as [number, number, number]
    await compare()
    for (const slot_id of slot_ids) await record(one, project, slot_id, 'click', 'click')
    await compare()
    // A render makes clicks count that did not: those that were named are fewer than before, and others move up.
    for (const slot_id of slot_ids.slice(3)) {
      await record(other, project, slot_id, 'render')
      await compare()
    }
    const late = newId(one)
    await overlap(
      () => record(one, project, first, 'render'),
      () => record(other, project, second, 'render'),
    )
    await compare()
    await record(one, project, second, 'late', 'click', late)
    await record(other, project, third, 'seen', 'visible')
    // More beacons than are judged together, of which the first by their identifiers count.
    const early = newId(other)
    await Promise.all(Array.from({ length: 505 }, (_, index) => record(one, project, third, `many ${index}`, 'click')))
    await compare()
    await record(other, project, third, 'early', 'render', early)
    await compare()
    const refused = { slot_id: third, beacon_id: 'x', event: 'click', occurred_at_ms: now_ms } as const
    for (const store of [one, other]) {
      const verdict = { verdict: 'rejected', reason_code: 'beacon_stale', received_at_ms: now_ms } as const
      await store.recordUnaccepted({ id: newId(store), project_id: project.id, ...refused, ...verdict })
      await compare()
    }
    const same = await one.countBilling(scope, 3)
    await record(one, project, second, 'alive', 'heartbeat')
    equal(await one.countBilling(scope, 3), same)
    await one.saveSettings(project.id, 1, { ...defaultSettings, publisher_share: 0.1 })
    notEqual(await one.countBilling(scope, 3), same)
    const patient = { ...defaultSettings, viewability: { ...defaultSettings.viewability, duration_ms: 500 } }
    await one.saveSettings(project.id, 2, patient)
    deepEqual(await sorted(one), await sorted(one, { since_ms: 0 }))
  },

  async 'settings are written only onto the revision that was read'({ one, other, overlap }) {
    const { id } = await newProject(one)
    const save = (store: Store, revision: number, label_text: string) =>
      store.saveSettings(id, revision, { ...defaultSettings, label_text })
    equal(count(await Promise.all([save(one, 1, 'a'), save(one, 1, 'b')])), 1)
    equal(
      count(
        await overlap(
          () => save(one, 2, 'c'),
          () => save(other, 2, 'd'),
        ),
      ),
      1,
    )
    equal(await save(one, 1, 'e'), null)
    equal((await other.listProjects()).find((row) => row.id === id)?.config_revision, 3)
  },

  async 'a beacon token is bound to the origin of its first beacon'({ one, other, overlap }) {
    const { id: project_id } = await newProject(one)
    const [slot_id] = (await place(one, { id: project_id })).slot_ids
    const pins = async (store: Store) => {
      const id = newId(one)
      const token = {
        id,
        project_id,
        key_id: 1,
        mode: 'test',
        origin: null,
        slot_id: slot_id!,
        expires_at_ms: now_ms,
      } as const
      await one.recordFrame(slot_id!, now_ms, { ...token, hash: randomBytes(32) })
      const pin = (at: Store, name: string) => () => at.pinOrigin(id, `https://${name}.example`)
      const race =
        store === one ? Promise.all([pin(one, 'a')(), pin(one, 'b')()]) : overlap(pin(one, 'a'), pin(other, 'b'))
      return [...(await race), await pin(other, 'c')()].filter(Boolean).length
    }
    deepEqual([await pins(one), await pins(other)], [1, 1])
  },
} satisfies Record<string, StoreRule>

/** Rules of a store that nodes share. */
export const sharedRules = {
  async 'an attempt of a callback belongs to one node while its lease lasts'({ one, other }) {
    const [slot_id, left] = [nextId(), nextId()]
    const claim = (store: Store, slot: number, attempts: number, lease_ms: number) =>
      store.shared!.claimCallback(slot, attempts, lease_ms)
    const race = [one, other, one, other].map((store) => claim(store, slot_id, 0, 60_000))
    equal((await Promise.all(race)).filter(Boolean).length, 1)
    equal(await claim(other, slot_id, 1, 60_000), true)
    equal(await claim(one, left, 0, -1), true)
    equal(await claim(other, left, 0, 60_000), true)
  },

  async 'a rate bucket is one for all nodes'({ one, other }) {
    const take = { bucket: `bucket ${nextId()}`, count: 8, per_ms: 0, burst: 10, now_ms }
    const taken = await Promise.all([one, other, one].map((store) => store.shared!.takeRates([take])))
    equal(
      taken.flat().reduce((sum, { granted }) => sum + granted, 0),
      10,
    )
  },

  async 'a ticket is redeemed once'({ one, other }) {
    const hash = randomBytes(32)
    await one.shared!.issueTicket({ hash, subject: 's', holder: 'h', expires_at_ms: now_ms + 1 }, now_ms)
    const redeemed = await Promise.all([other, one].map((store) => store.shared!.redeemTicket(hash, 's', now_ms)))
    equal(count(redeemed), 1)
  },
} satisfies Record<string, StoreRule>

export type StoreRuleName = keyof typeof storeRules | keyof typeof sharedRules

/* Rows */

const now_ms = Date.UTC(2026, 0, 1)
const maxNodes = 64
let lastId = maxNodes * 1_000_000
const nextId = () => (lastId += maxNodes)
/** For a row that this store writes: it ends with the number of the node. */
const newId = (store: Store) => nextId() + (store.node() ?? 0)

export const sha256Hex = (text: string) => createHash('sha256').update(text).digest('hex')
/** How many calls had a result. */
const count = (results: readonly unknown[]) => results.filter((result) => result !== null).length

async function newProject(store: Store): Promise<ProjectRow> {
  return (await store.insertProject(`proj_${nextId()}`, defaultSettings, [], now_ms))!
}

function evidence(kind: EvidenceDraft['kind'], ref = nextId()): EvidenceDraft {
  return { kind, ref, at_ms: now_ms, build: (seq) => JSON.stringify({ seq, ref }) }
}

const failingEvidence: EvidenceDraft = {
  ...evidence('decision'),
  build() {
    throw new Error('this entry cannot be built')
  },
}

/** A consent that denies, as it is stored and as it is written. */
function buildDenial(store: Store, session: { project_id: number; session_id: string }) {
  const stored = {
    id: newId(store),
    revision: 1,
    state: 'denied',
    source: 'svc_consent',
    updated_at_ms: now_ms,
  } as const
  const purposes = { semantic_targeting: false, prompt_shared: false }
  const draft = { ...stored, ...purposes, extras: '{}', expires_at_ms: now_ms + 1, renews: false }
  const consent = { id: stored.id, ...session, draft, expected: null, evidence: evidence('consent', stored.id) }
  return { stored, purposes, consent }
}

function decisionFor(slot_id: number, caps: readonly CapGuard[] = []): DecisionWrite {
  const session = { project_id: 0, session_id: null }
  return { slot_id, session, decision: fill(), evidence: evidence('decision'), caps, dropsTopic: false }
}

function fill(): StoredDecision {
  return {
    decided_at_ms: now_ms,
    outcome: {
      ...{ status: 'filled', format: 'banner', campaign_id: 'camp', creative_id: 'crea', width: 300, height: 250 },
      ...{ duration_ms: null, gross_cpm: 2, currency: 'EUR', template_id: null, asset_token_hash: randomBytes(32) },
    },
    label_text: 'Sponsored',
    consent: {
      ...{ lifecycle_state: 'granted', revision: 1, updated_at_ms: 1, expires_at_ms: now_ms, source: 'none' },
      purposes: { semantic_targeting: false, prompt_shared: false },
    },
    ...{ trace: '', catalogue: 1, topic: null },
  }
}

interface Placing {
  session_id?: string | null
  slots?: number
  caps?: readonly CapGuard[]
  isPending?: boolean
  /** The evidence of the last slot cannot be built. */
  fails?: boolean
}

/** Creates a job with slots that are filled, or pending. */
async function place(store: Store, project: Pick<ProjectRow, 'id'>, placing: Placing = {}) {
  const { session_id = null, slots = 1, caps = [], isPending = false, fails = false } = placing
  const job = { id: newId(store), project_id: project.id, session_id, key_id: 1, created_at_ms: now_ms, facts: {} }
  const slot_ids = Array.from({ length: slots }, () => newId(store))
  const isCreated = await store.createJob(
    { ...job, job_type: 'chat', mode: 'test' },
    slot_ids.map((id, index) => {
      if (isPending) return { id, due_at_ms: now_ms, decision: null, evidence: null }
      const draft = fails && index === slots - 1 ? failingEvidence : evidence('decision')
      return { id, due_at_ms: now_ms, decision: fill(), evidence: draft }
    }),
    null,
    caps.map((cap) => (cap.kind === 'interval' ? { ...cap, job_id: job.id } : cap)),
  )
  return { isCreated, slot_ids, job_id: job.id }
}

function record(
  store: Store,
  { id: project_id }: ProjectRow,
  slot_id: number,
  beacon_id: string,
  event: BeaconEvent = 'render',
  id = newId(store),
  draft = evidence('beacon', id),
) {
  const times = { occurred_at_ms: now_ms, received_at_ms: now_ms }
  const measurements = event === 'visible' ? { visible_ratio: 0.9, visible_ms: 900 } : null
  const body = { body_sha256: sha256Hex(beacon_id), measurements, extras: '{}' }
  const terms = { session: { project_id, session_id: null }, consent: null }
  return store.recordBeacon({ id, slot_id, beacon_id, event, ...times, ...body }, terms, draft)
}

/** Resolves when both nodes know the last event: each knows those of the other a moment after their commit. */
async function agree(one: Store, other: Store): Promise<void> {
  for (const started = performance.now(); one.lastEventSeq() !== other.lastEventSeq(); ) {
    if (performance.now() - started > 20_000) throw new Error('the nodes do not agree on the last event')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
