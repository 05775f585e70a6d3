/** The checks on a history that keeps everything, and on the same with one thing broken by hand: each break is found. */
import { expect, test } from 'vitest'
import { type CheckName, checkHistory } from './checks.ts'
import type { Caps, Measurements, Operation } from './history.ts'
import { createSample, linkEntries, type Sample, sampleEntries } from './sample.ts'

interface Break {
  check: CheckName
  says: RegExp
  change(sample: Sample): void
}

const body = (operation: Operation | undefined) => {
  if (operation?.outcome.kind !== 'done') throw new Error('this operation has no response')
  return operation.outcome.body as Record<string, unknown>
}

/** The operation of that number. */
const at = ({ history }: Sample, number: number) => history.operations[number - 1]

/** Replaces the chain by one of other entries, which everybody has read. */
const relink = (sample: Sample, entries: readonly object[]) => {
  const chain = linkEntries(entries)
  sample.state.chains.set('proj_demo', chain)
  body(at(sample, 14)).entries = chain
}

/** What the placement of slot_2 permits. */
const cap = (sample: Sample, caps: Caps) => {
  const operation = at(sample, 6)!
  operation.action = { ...operation.action, caps } as Operation['action']
}

/** Adds a view of slot_1, 3 s after its render, that counts. */
const view = ({ history, state }: Sample, measurements: Measurements) => {
  const names = { slot_id: 'slot_1', beacon_id: 'beacon-2', event: 'visible' } as const
  const sent = { ...history.operations[3]!, number: 15, action: { kind: 'beacon', ...names, measurements } as const }
  history.operations.push({ ...sent, outcome: { kind: 'unknown', why: '' } })
  state.beacons.push({ ...state.beacons[0]!, ...names, metric: 'viewable_impression', occurred_at_ms: 5_000 })
}

const [consent, decision, beacon, denial, later] = sampleEntries as [object, object, object, object, object]

const breaks: Record<string, Break> = {
  'a beacon that was acknowledged is lost': {
    check: 'beacons',
    says: /beacon-1 was acknowledged by operation 4 .* is lost/,
    change: ({ state }) => state.beacons.shift(),
  },
  'a beacon is accepted twice': {
    check: 'beacons',
    says: /accepted 2 times/,
    change: ({ state }) => state.beacons.push({ ...state.beacons[0]! }),
  },
  'a beacon is counted for two clients': {
    check: 'beacons',
    says: /counted twice/,
    change: (sample) => {
      body(at(sample, 5)).duplicate = false
    },
  },
  'a beacon is a duplicate of nothing': {
    check: 'beacons',
    says: /duplicate of nothing/,
    change: (sample) => {
      body(at(sample, 4)).duplicate = true
      sample.history.operations.splice(2, 1)
      sample.history.operations.splice(3, 1)
    },
  },
  'a beacon is refused after it was acknowledged': {
    check: 'beacons',
    says: /is refused with 400/,
    change: (sample) => {
      at(sample, 5)!.outcome = { kind: 'refused', status: 400, body: {} }
    },
  },
  'a beacon of another event is stored': {
    check: 'beacons',
    says: /was a render, and is a click/,
    change: ({ state }) => {
      state.beacons[0]!.event = 'click'
    },
  },
  'a beacon is stored that nobody sent': {
    check: 'beacons',
    says: /nobody has sent it/,
    change: ({ state }) => state.beacons.push({ ...state.beacons[0]!, beacon_id: 'beacon-9' }),
  },
  'a read does not see a beacon that another node has acknowledged': {
    check: 'beacons',
    says: /operation 12 .* does not see beacon-1/,
    change: (sample) => {
      body(at(sample, 12)).items = []
    },
  },
  'a placement that was acknowledged is lost': {
    check: 'decisions',
    says: /slot_2 was acknowledged .* is lost/,
    change: ({ state }) => state.slots.pop(),
  },
  'two placements have one slot': {
    check: 'decisions',
    says: /slot_1 is that of operation 2 and of operation 6/,
    change: (sample) => {
      body(at(sample, 6)).slot_id = 'slot_1'
    },
  },
  'a placement is decided twice': {
    check: 'decisions',
    says: /slot_2 has two decisions|slot_2 has 2 decisions/,
    change: (sample) => relink(sample, [...sampleEntries, later]),
  },
  'two readers get two decisions': {
    check: 'decisions',
    says: /slot_1 has two decisions/,
    change: (sample) => {
      body(at(sample, 13)).decision = {
        fill: true,
        format: 'native',
        asset_token: 'ast_1',
        cs_declaration: 'CS-S (S1/P1)',
      }
    },
  },
  'a decision is gone for a later reader': {
    check: 'decisions',
    says: /slot_1 is pending for operation 13/,
    change: (sample) => {
      body(at(sample, 13)).decision = null
    },
  },
  'a slot is never decided': {
    check: 'decisions',
    says: /slot_2 is still pending/,
    change: ({ state }) => {
      state.slots[1]!.fill = null
    },
  },
  'a decision is stored as another': {
    check: 'decisions',
    says: /slot_1 was decided as true banner, and is true native/,
    change: ({ state }) => {
      state.slots[0]!.format = 'native'
    },
  },
  'a node does not know a slot of another': {
    check: 'decisions',
    says: /is a 404 for operation 13/,
    change: (sample) => {
      at(sample, 13)!.outcome = { kind: 'refused', status: 404, body: {} }
    },
  },
  'a decision has no entry': {
    check: 'decisions',
    says: /slot_2 has 0 decisions/,
    change: (sample) => relink(sample, sampleEntries.slice(0, -1)),
  },
  'a revision of consent is lost': {
    check: 'consent',
    says: /revision 2 of proj_demo\/s-1, of operation 7 .* is lost/,
    change: ({ state }) => state.consents.pop(),
  },
  'a revision of consent is given twice': {
    check: 'consent',
    says: /has the revisions 1, 1/,
    change: ({ state }) => {
      state.consents[1]!.revision = 1
    },
  },
  'a consent goes back': {
    check: 'consent',
    says: /is at revision 1 for operation 7 .*, and was at 2 for operation 1/,
    change: (sample) => {
      const [one, other] = [body(at(sample, 1)), body(at(sample, 7))]
      ;[one.authoritative_consent, other.authoritative_consent] = [
        other.authoritative_consent,
        one.authoritative_consent,
      ]
    },
  },
  'a consent that was acknowledged is another one': {
    check: 'consent',
    says: /was denied for operation 7 .*, and is granted/,
    change: ({ state }) => {
      state.consents[1]!.lifecycle_state = 'granted'
    },
  },
  'a placement is filled after its consent was withdrawn': {
    check: 'consent',
    says: /is at revision 1 for operation 15 .*, and was at 2 for operation 7/,
    change: ({ history: { operations } }) => {
      operations.push({ ...operations[1]!, number: 15, called: 90_000, ended: 90_005 })
    },
  },
  'a placement is filled as if there were no consent': {
    check: 'consent',
    says: /is at revision 0 for operation 2/,
    change: (sample) => {
      const placed = body(at(sample, 2))
      placed.authoritative_consent = { ...(placed.authoritative_consent as object), source: 'none' }
    },
  },
  'a placement is filled without its consent': {
    check: 'consent',
    says: /filled for operation 2 .* although its consent is denied/,
    change: (sample) => {
      body(at(sample, 2)).authoritative_consent = body(at(sample, 7)).authoritative_consent
    },
  },
  'a fill stands behind a withdrawal in the chain': {
    check: 'consent',
    says: /slot_1 is filled at 3 of proj_demo by revision 1; in force is 2, denied/,
    change: (sample) => relink(sample, [consent, denial, decision, beacon, later]),
  },
  'a beacon stands behind a withdrawal in the chain': {
    check: 'consent',
    says: /slot_1 has a beacon at 4 of proj_demo by revision 1; in force is 2, denied/,
    change: (sample) => relink(sample, [consent, decision, denial, beacon, later]),
  },
  'the chain goes back to an older consent': {
    check: 'consent',
    says: /goes back from revision 2 to 1/,
    change: (sample) => relink(sample, [denial, consent, decision, beacon, later]),
  },
  'a read does not see a consent that another node has acknowledged': {
    check: 'consent',
    says: /operation 11 .* sees proj_demo\/s-1 at revision 1/,
    change: (sample) => {
      body(at(sample, 11)).items = [{ revision: 1 }]
    },
  },
  'an entry of a chain is missing': {
    check: 'chains',
    says: /has 4 in place 3/,
    change: ({ state }) => state.chains.get('proj_demo')!.splice(2, 1),
  },
  'an entry of a chain is changed': {
    check: 'chains',
    says: /breaks at 2/,
    change: ({ state }) => {
      const entry = state.chains.get('proj_demo')![1]!
      entry.entry = entry.entry.replace('"fill":true', '"fill":false')
    },
  },
  'a chain forks: a node has shown another entry': {
    check: 'chains',
    says: /operation 14 .* saw entry 5 of proj_demo, which is not in its chain/,
    change: (sample) => {
      const entries = [...(body(at(sample, 14)).entries as { hash: string }[])]
      entries[4] = { ...entries[4]!, hash: 'f'.repeat(64) }
      body(at(sample, 14)).entries = entries
    },
  },
  'a read of a chain does not see what was acknowledged': {
    check: 'chains',
    says: /operation 14 .* does not see entry 5/,
    change: (sample) => {
      body(at(sample, 14)).entries = (body(at(sample, 14)).entries as unknown[]).slice(0, -1)
    },
  },
  'the order of a chain is not that of time': {
    check: 'chains',
    says: /entry 5 of proj_demo had ended before what entry 3 records was called/,
    change: ({ history: { operations } }) => {
      // The slot of entry 5 was decided before the beacon of entry 3 was sent, say those who asked for it.
      for (const index of [5, 7]) operations[index] = { ...operations[index]!, called: 6_010, ended: 6_012 }
      operations[2]!.called = 12_000
    },
  },
  'a beacon has no entry': {
    check: 'chains',
    says: /1 beacons, and 0 entries/,
    change: (sample) => relink(sample, [consent, decision, denial, later]),
  },
  'a follower misses an event': {
    check: 'events',
    says: /follower 1 gets event 4, beacon.accepted, where 3 comes/,
    change: ({ history }) => history.followed[1]!.events.splice(2, 1),
  },
  'a follower gets an event twice': {
    check: 'events',
    says: /follower 0 gets event 3, placement.decided, where 4 comes/,
    change: ({ history }) => history.followed[0]!.events.splice(3, 0, history.followed[0]!.events[2]!),
  },
  'a follower gets an event that was taken back': {
    check: 'events',
    says: /follower 0 got event 8, placement.decided, which is not there/,
    change: ({ state }) => state.events.pop(),
  },
  'a follower gets another event than there is': {
    check: 'events',
    says: /follower 0 got beacon.accepted of slot_9 as event 4/,
    change: ({ history }) => {
      history.followed[0]!.events[3]!.slot_id = 'slot_9'
    },
  },
  'a follower stays behind': {
    check: 'events',
    says: /follower 1 got events up to 7 of 8/,
    change: ({ history }) => history.followed[1]!.events.pop(),
  },
  'a decision has two events': {
    check: 'events',
    says: /the decision of slot_1 has two events/,
    change: ({ state }) => {
      state.events[1]!.type = 'placement.decided'
    },
  },
  'a beacon has no event': {
    check: 'events',
    says: /0 events beacon.accepted, and 1/,
    change: ({ state }) => {
      state.events[3]!.type = 'beacon.duplicate'
    },
  },
  'a change of settings is lost': {
    check: 'settings',
    says: /were at revision 1 .* are at 0/,
    change: ({ state }) => state.revisions.set('proj_demo', 0),
  },
  'two changes of settings have one revision': {
    check: 'settings',
    says: /has revision 1, and operation 9 .* 1/,
    change: ({ history: { operations } }) => {
      const [change] = operations.filter(({ action }) => action.kind === 'settings')
      operations.push({ ...change!, number: 15, action: { ...change!.action, change: '400' } as Operation['action'] })
    },
  },
  'a read sees settings that have changed': {
    check: 'settings',
    says: /operation 10 .* sees settings at revision 0/,
    change: (sample) => {
      body(at(sample, 10)).config_revision = 0
    },
  },
  'a callback is reported as delivered, and never came': {
    check: 'callbacks',
    says: /slot_2 is delivered, and never came/,
    change: ({ history }) => (history.callbacks as unknown[]).pop(),
  },
  'a callback has another decision': {
    check: 'callbacks',
    says: /slot_2 has another decision/,
    change: ({ history }) => {
      ;(history.callbacks[0] as { body: unknown }).body = { fill: true, asset_token: 'ast_9' }
    },
  },
  'a callback is never sent': {
    check: 'callbacks',
    says: /slot_2 is still waiting/,
    change: ({ state }) => {
      state.callbacks[0]!.status = 'waiting'
    },
  },
  'the newest consent is not the current one': {
    check: 'consent',
    says: /current revision of proj_demo\/s-1 is none/,
    change: ({ state }) => {
      state.consents[1]!.is_current = false
    },
  },
  'a decision declares more than its consent permits': {
    check: 'consent',
    says: /slot_2 declares CS-S \(S1\/P1\) for operation 8 .* is \(S0\/P0\)/,
    change: (sample) => {
      body(at(sample, 8)).decision = { fill: false, asset_token: null, cs_declaration: 'CS-S (S1/P1)' }
    },
  },
  'a placement is filled by a consent that has expired': {
    check: 'consent',
    says: /slot_1 is filled at 2 of proj_demo although revision 1 has expired/,
    change: (sample) =>
      relink(sample, [{ ...consent, expires_at_ms: 5 }, { ...decision, at_ms: 5 }, beacon, denial, later]),
  },
  'a session is filled beyond its cap': {
    check: 'caps',
    says: /slot_2 is filled, the fill 2 of its session, whose cap is 1/,
    change: (sample) => {
      cap(sample, { session: 1, interval: null })
      relink(sample, [...sampleEntries.slice(0, -1), { ...later, fill: true }])
    },
  },
  'two prompts after one another are filled': {
    check: 'caps',
    says: /slot_2 is filled directly after slot_1/,
    change: (sample) => {
      cap(sample, { session: null, interval: 2 })
      relink(sample, [...sampleEntries.slice(0, -1), { ...later, fill: true }])
    },
  },
  'a beacon of a slot without a fill is accepted': {
    check: 'tokens',
    says: /beacon-1 is accepted for slot_1, which has no fill/,
    change: ({ state }) => {
      state.slots[0]!.fill = false
    },
  },
  'a beacon is accepted after its token had expired': {
    check: 'tokens',
    says: /beacon-1 is accepted after its token had expired/,
    change: ({ state }) => Object.assign(state.beacons[0]!, { received_at_ms: 2_101_001, occurred_at_ms: 2_101_001 }),
  },
  'a frame that was loaded later prolongs its token by no more than half an hour': {
    check: 'tokens',
    says: /beacon-1 is accepted after its token had expired/,
    change: ({ history, state }) => {
      history.frames = new Map([['slot_1', 3_000]])
      Object.assign(state.beacons[0]!, { received_at_ms: 1_803_001, occurred_at_ms: 1_803_001 })
    },
  },
  'a stale beacon is accepted': {
    check: 'tokens',
    says: /beacon-1 is accepted although it is stale/,
    change: ({ state }) => Object.assign(state.beacons[0]!, { occurred_at_ms: 0, received_at_ms: 300_001 }),
  },
  'a beacon of the future is accepted': {
    check: 'tokens',
    says: /beacon-1 is accepted although it lies in the future/,
    change: ({ state }) => Object.assign(state.beacons[0]!, { occurred_at_ms: 62_501 }),
  },
  'a play of a picture is accepted': {
    check: 'tokens',
    says: /beacon-1 is a play_started of a banner/,
    change: ({ state }) => Object.assign(state.beacons[0]!, { event: 'play_started' }),
  },
  'a duplicate counts': {
    check: 'billing',
    says: /beacon-1 counts although it is duplicate/,
    change: ({ state }) => Object.assign(state.beacons[1]!, { would_bill: true }),
  },
  'a click counts before its render': {
    check: 'billing',
    says: /beacon-1, click of slot_1, is OK, and should be AWAITING_RENDER/,
    change: ({ state }) => Object.assign(state.beacons[0]!, { event: 'click', metric: 'click' }),
  },
  'a second render counts': {
    check: 'billing',
    says: /beacon-2, render of slot_1, is OK, and should be ALREADY_COUNTED/,
    change: ({ state }) => state.beacons.push({ ...state.beacons[0]!, beacon_id: 'beacon-2', occurred_at_ms: 3_000 }),
  },
  'a view counts that was too brief': {
    check: 'billing',
    says: /beacon-2, visible of slot_1, is OK, and should be BELOW_THRESHOLD/,
    change: (sample) => view(sample, { visible_ratio: 1, visible_ms: 999 }),
  },
  'a view counts that is longer than it can have been': {
    check: 'billing',
    says: /beacon-2, visible of slot_1, is OK, and should be MEASUREMENT_IMPLAUSIBLE/,
    change: (sample) => view(sample, { visible_ratio: 1, visible_ms: 5_000 }),
  },
  'a report counts a beacon twice': {
    check: 'billing',
    says: /the report has 2 of proj_demo rendered_impression, and 1 beacons are/,
    change: ({ state }) => {
      state.reports[0]!.report.lines[0]!.count = 2
    },
  },
  'a report of a project leaves a reason out': {
    check: 'billing',
    says: /the report of proj_demo has 0 of DUPLICATE, and 1 beacons are/,
    change: ({ state }) => state.reports[1]!.report.not_counted.reasons.pop(),
  },
}

test('a history that keeps everything has no problem', () => {
  const { history, state } = createSample()
  expect(checkHistory(history, state)).toEqual([])
})

test.each(Object.entries(breaks))('%s: it is found', (_, { check, says, change }) => {
  const sample = createSample()
  change(sample)
  const problems = checkHistory(sample.history, sample.state)
  const texts = problems.filter((problem) => problem.check === check).map(({ text }) => text)
  expect(texts.join('\n'), JSON.stringify(problems)).toMatch(says)
})
