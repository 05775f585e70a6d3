import { describe, expect, test } from 'vitest'
import { plainStyle } from '#text/terminal.ts'
import { describeValue } from '#text/text.ts'
import { endpoints } from './facts.ts'
import { chooseVariant } from './flags.ts'
import { assign, type Body } from './input.ts'
import { describeRecord } from './listed-page.ts'

const PlacementRequest = chooseVariant(endpoints['placements.create'].body, [])
const JobRequest = chooseVariant(endpoints['jobs.create'].body, [])

const assigned = (...assignments: string[]) => {
  const body: Body = {}
  for (const assignment of assignments) assign(body, assignment, PlacementRequest)
  return body
}

describe('--set path=value', () => {
  test('the value gets the type of its field', () => {
    expect(assigned('session_id=123')).toEqual({ session_id: '123' })
    expect(assigned('session_id="123"')).toEqual({ session_id: '123' })
    expect(assigned('slot_hint.max_width=300')).toEqual({ slot_hint: { max_width: 300 } })
    expect(assigned('consent.prompt_shared=true')).toEqual({ consent: { prompt_shared: true } })
    expect(assigned('overrides.publisher={"app_name":"a"}')).toEqual({ overrides: { publisher: { app_name: 'a' } } })
    expect(assigned('overrides.targeting.key=[1]')).toEqual({ overrides: { targeting: { key: [1] } } })
  })

  test('a prompt is an object or a string, depending on how it is written', () => {
    expect(assigned('prompt={"topic":"tea"}')).toEqual({ prompt: { topic: 'tea' } })
    expect(assigned('prompt=tea')).toEqual({ prompt: 'tea' })
    expect(assigned('prompt=42')).toEqual({ prompt: '42' })
    expect(assigned('prompt.topic=42')).toEqual({ prompt: { topic: '42' } })
  })

  test('an array is JSON, a list with commas, or written item by item', () => {
    const formats = { overrides: { allowed_formats: ['clip', 'native'] } }
    expect(assigned('overrides.allowed_formats=["clip","native"]')).toEqual(formats)
    expect(assigned('overrides.allowed_formats=clip,native')).toEqual(formats)
    expect(assigned('overrides.allowed_formats.0=clip', 'overrides.allowed_formats.1=native')).toEqual(formats)
    expect(assigned('overrides.allowed_formats=')).toEqual({ overrides: { allowed_formats: [] } })
  })

  test('can write what the contract rejects, to see how the service responds', () => {
    expect(assigned('colour=blue', 'slot_hint.max_width=wide')).toEqual({
      colour: 'blue',
      slot_hint: { max_width: 'wide' },
    })
    expect(assigned('job_type=poem', 'overrides.allowed_formats.0=poster')).toEqual({
      job_type: 'poem',
      overrides: { allowed_formats: ['poster'] },
    })
  })

  test('keeps other fields, and equals signs in the value', () => {
    const body: Body = { slot_hint: { max_width: 1 } }
    assign(body, 'slot_hint.max_height=2', JobRequest)
    assign(body, 'model_id=a=b', JobRequest)
    expect(body).toEqual({ slot_hint: { max_width: 1, max_height: 2 }, model_id: 'a=b' })
  })

  test('rejects text that is not a path', () => {
    for (const assignment of ['nonsense', '=1', 'a..b=1', '__proto__.x=1']) {
      expect(() => assigned(assignment), assignment).toThrow('is not path=value')
    }
  })

  test('rejects an array index that leaves a gap', () => {
    expect(() => assigned('overrides.allowed_formats.3=clip')).toThrow('the array has no such index')
  })
})

test('a response is described for reading: spans and times with their unit, a body with its names unchanged', () => {
  const value = {
    created_at_ms: 1_769_860_800_000,
    revoked_at_ms: null,
    is_current: true,
    consent: { ttl_ms: 15_552_000_000, heartbeat_interval_ms: 10_000 },
    offset_ms: -500,
    retry_after_s: 90,
    duration_ms: 3.26,
  }
  expect(describeRecord(value, plainStyle)).toEqual([
    'created at   2026-01-31T12:00:00.000Z',
    'revoked at   -',
    'is current   yes',
    'consent',
    '  ttl                 180d',
    '  heartbeat interval  10s',
    'offset ms    -500',
    'retry after  1m 30s',
    'duration     3.3ms',
  ])
  const inMs = { ...plainStyle, view: { ...plainStyle.view, time: 'ms' as const } }
  expect(describeRecord({ created_at_ms: 7, ttl_ms: 8 }, inMs)).toEqual(['created at ms  7', 'ttl ms         8'])
  expect(describeValue({ is_current: true, ttl_ms: 8 }, plainStyle)).toEqual(['is_current  true', 'ttl_ms      8'])
})
