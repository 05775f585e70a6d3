import { describe, expect, test } from 'vitest'
import type { SandboxEvent } from '#contract/resources/events.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import { openRecorder, type Recorder } from './record.ts'
import { readChoices } from './surfaces.ts'

const session_id = 'demo-1'
let seq = 0

function buildRecorder(...ids: string[]): Recorder {
  const recorder = openRecorder(() => undefined)
  for (const id of ids) start(recorder, id)
  return recorder
}

function start(recorder: Recorder, id: string): void {
  recorder.start({ id, job_type: 'chat', text: 'What now?', choices: readChoices('') }, session_id)
}

function sandboxEvent(type: SandboxEvent['type'], slot_id: string | null, data: object = {}): SandboxEvent {
  seq += 1
  return { seq, type, at_ms: 1, client_id: 'proj_demo', slot_id, data: { session_id, ...data } as SandboxEvent['data'] }
}

function pageEvent(event: object): RendererEvent {
  return { at_ms: 1, turn_id: 'turn-1', slot_id: 'slot_1', instance_id: 'ri_1', ...event } as RendererEvent
}

const kinds = (recorder: Recorder, turn = 0) => recorder.turns[turn]?.entries.map(({ kind }) => kind)

describe('a decision or a beacon', () => {
  test('is one entry, whichever side knows it first', () => {
    for (const isPageFirst of [true, false]) {
      const recorder = buildRecorder('turn-1')
      const sides = [
        () => recorder.onPageEvent(pageEvent({ type: 'decision', status: 'ready', fill: true })),
        () => recorder.onSandboxEvent(sandboxEvent('placement.decided', 'slot_1', { fill: true }), performance.now()),
      ]
      for (const side of isPageFirst ? sides : sides.toReversed()) side()
      recorder.onPageEvent(pageEvent({ type: 'rendered' }))
      const beacon = { beacon_id: 'ri_1:render', event: 'render' }
      recorder.onSandboxEvent(sandboxEvent('beacon.accepted', 'slot_1', beacon), performance.now())
      recorder.onPageEvent(pageEvent({ type: 'beacon', event: 'render', accepted: true, reason_code: 'OK' }))
      expect(kinds(recorder)).toEqual(['started', 'decision', 'rendered', 'beacon'])
      expect(recorder.turns[0]?.entries.at(-1)).toMatchObject({ page: expect.anything(), sandbox: expect.anything() })
    }
  })

  test('never precedes its cause, although the clocks differ', () => {
    const recorder = buildRecorder('turn-1')
    recorder.onPageEvent(pageEvent({ type: 'turn:started' }))
    recorder.onPageEvent(pageEvent({ type: 'rendered' }))
    recorder.onSandboxEvent(
      sandboxEvent('beacon.accepted', 'slot_1', { beacon_id: 'ri_1:render', event: 'render' }),
      -500,
    )
    expect(kinds(recorder)).toEqual(['started', 'request', 'rendered', 'beacon'])
  })

  test('gets an entry of its own when it is repeated', () => {
    const recorder = buildRecorder('turn-1')
    const beacon = { beacon_id: 'ri_1:click', event: 'click' }
    recorder.onSandboxEvent(sandboxEvent('beacon.accepted', 'slot_1', beacon), performance.now())
    recorder.onSandboxEvent(sandboxEvent('beacon.duplicate', 'slot_1', beacon), performance.now())
    expect(kinds(recorder)).toEqual(['started', 'beacon', 'beacon'])
  })

  test('is numbered if it is a heartbeat', () => {
    const recorder = buildRecorder('turn-1')
    for (const count of [1, 2]) {
      recorder.onPageEvent(pageEvent({ type: 'beacon', event: 'heartbeat', accepted: true, reason_code: 'OK' }))
      const beacon = { beacon_id: `ri_1:heartbeat:${count}`, event: 'heartbeat' }
      recorder.onSandboxEvent(sandboxEvent('beacon.accepted', 'slot_1', beacon), performance.now())
    }
    expect(kinds(recorder)).toEqual(['started', 'beacon', 'beacon'])
  })
})

describe('the turn of an event', () => {
  test('is none when it belongs to another session', () => {
    const recorder = buildRecorder('turn-1')
    recorder.onSandboxEvent(sandboxEvent('job.created', 'slot_9', { session_id: 'other' }), performance.now())
    expect(kinds(recorder)).toEqual(['started'])
  })

  test('is the newest one until its slot proves to be another’s', () => {
    const recorder = buildRecorder('turn-1', 'turn-2')
    recorder.onSandboxEvent(sandboxEvent('job.created', 'slot_1'), performance.now())
    expect(kinds(recorder)).toEqual(['started', 'pending'])
    recorder.bind('turn-1', 'slot_1')
    expect([kinds(recorder, 0), kinds(recorder, 1)]).toEqual([['started'], ['started', 'pending']])
  })

  test('is that of the stored consent, with the event that the sandbox recorded', () => {
    const recorder = buildRecorder('turn-1')
    recorder.onSandboxEvent(sandboxEvent('consent.changed', null, { consent_id: 'cns_other' }), performance.now())
    recorder.onSandboxEvent(sandboxEvent('consent.changed', null, { consent_id: 'cns_1' }), performance.now())
    expect(kinds(recorder)).toEqual(['started'])
    recorder.note({ type: 'consent', consent_id: 'cns_1', state: 'granted', revision: 1 })
    expect(recorder.turns[0]?.entries[1]).toMatchObject({
      kind: 'consent',
      sandbox: { event: { type: 'consent.changed' } },
    })
  })
})
