import { describe, expect, test } from 'vitest'
import type { SandboxEvent } from '../../../src/contract/control/events.ts'
import type { RendererEvent } from '../../renderer/host/renderer.ts'
import { readChoices } from '../choices.ts'
import { openRecorder, type Recorder } from './record.ts'

const session_id = 'demo-1'
let seq = 0

function began(...ids: string[]): Recorder {
  const recorder = openRecorder(() => undefined)
  for (const id of ids) begin(recorder, id)
  return recorder
}

function begin(recorder: Recorder, id: string): void {
  recorder.begin({ id, job_type: 'chat', text: 'What now?', choices: readChoices('') }, session_id)
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
  test('is one entry, whichever side tells it first', () => {
    for (const isPageFirst of [true, false]) {
      const recorder = began('turn-1')
      const tell = [
        () => recorder.hearPage(pageEvent({ type: 'decision', status: 'ready', fill: true })),
        () => recorder.hearSandbox(sandboxEvent('placement.decided', 'slot_1', { fill: true }), performance.now()),
      ]
      for (const side of isPageFirst ? tell : tell.toReversed()) side()
      recorder.hearPage(pageEvent({ type: 'rendered' }))
      const beacon = { beacon_id: 'ri_1:render', event: 'render' }
      recorder.hearSandbox(sandboxEvent('beacon.accepted', 'slot_1', beacon), performance.now())
      recorder.hearPage(pageEvent({ type: 'beacon', event: 'render', accepted: true, reason_code: 'OK' }))
      expect(kinds(recorder)).toEqual(['asked', 'decision', 'rendered', 'beacon'])
      expect(recorder.turns[0]?.entries.at(-1)).toMatchObject({ page: expect.anything(), sandbox: expect.anything() })
    }
  })

  test('never stands before what caused it, though two clocks differ', () => {
    const recorder = began('turn-1')
    recorder.hearPage(pageEvent({ type: 'turn:started' }))
    recorder.hearPage(pageEvent({ type: 'rendered' }))
    recorder.hearSandbox(sandboxEvent('beacon.accepted', 'slot_1', { beacon_id: 'ri_1:render', event: 'render' }), -500)
    expect(kinds(recorder)).toEqual(['asked', 'request', 'rendered', 'beacon'])
  })

  test('that is repeated is an entry of its own', () => {
    const recorder = began('turn-1')
    const beacon = { beacon_id: 'ri_1:click', event: 'click' }
    recorder.hearSandbox(sandboxEvent('beacon.accepted', 'slot_1', beacon), performance.now())
    recorder.hearSandbox(sandboxEvent('beacon.duplicate', 'slot_1', beacon), performance.now())
    expect(kinds(recorder)).toEqual(['asked', 'beacon', 'beacon'])
  })

  test('heartbeats are told apart', () => {
    const recorder = began('turn-1')
    for (const count of [1, 2]) {
      recorder.hearPage(pageEvent({ type: 'beacon', event: 'heartbeat', accepted: true, reason_code: 'OK' }))
      const beacon = { beacon_id: `ri_1:heartbeat:${count}`, event: 'heartbeat' }
      recorder.hearSandbox(sandboxEvent('beacon.accepted', 'slot_1', beacon), performance.now())
    }
    expect(kinds(recorder)).toEqual(['asked', 'beacon', 'beacon'])
  })
})

describe('whose', () => {
  test('an event of another session is nobody’s', () => {
    const recorder = began('turn-1')
    recorder.hearSandbox(sandboxEvent('job.created', 'slot_9', { session_id: 'other' }), performance.now())
    expect(kinds(recorder)).toEqual(['asked'])
  })

  test('a slot is first taken for the newest turn’s, and moves when it proves to be another’s', () => {
    const recorder = began('turn-1', 'turn-2')
    recorder.hearSandbox(sandboxEvent('job.created', 'slot_1'), performance.now())
    expect(kinds(recorder)).toEqual(['asked', 'pending'])
    recorder.bind('turn-1', 'slot_1')
    expect([kinds(recorder, 0), kinds(recorder, 1)]).toEqual([['asked'], ['asked', 'pending']])
  })

  test('a consent is shown when this page has stored it, with the event that the sandbox recorded', () => {
    const recorder = began('turn-1')
    recorder.hearSandbox(sandboxEvent('consent.changed', null, { consent_id: 'cns_other' }), performance.now())
    recorder.hearSandbox(sandboxEvent('consent.changed', null, { consent_id: 'cns_1' }), performance.now())
    expect(kinds(recorder)).toEqual(['asked'])
    recorder.note({ type: 'consent', consent_id: 'cns_1', state: 'granted', revision: 1 })
    expect(recorder.turns[0]?.entries[1]).toMatchObject({
      kind: 'consent',
      sandbox: { event: { type: 'consent.changed' } },
    })
  })
})
