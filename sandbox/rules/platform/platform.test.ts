import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { manualClock, sandboxClock } from './clock.ts'
import { createPlatform } from './platform.ts'

const signingKey = new Uint8Array(32)

test('nodes that share a database never create the same identifier, even after one has seen a larger one', () => {
  const platforms = [0, 1, 63].map((node) => createPlatform({ signingKey, node: () => node }))
  const ids = platforms.flatMap((platform) => Array.from({ length: 1_000 }, () => platform.newId()))
  platforms[1]!.reserveIdsUpTo(Math.max(...ids) + 5)
  ids.push(...platforms.map((platform) => platform.newId()))
  expect(new Set(ids).size).toBe(3_003)
  expect(new Set(ids.slice(0, 1_000).map((id) => id % 64))).toEqual(new Set([0]))
})

test('identifiers of a node grow', () => {
  const platform = createPlatform({ signingKey, node: () => 7 })
  const ids = Array.from({ length: 500 }, () => platform.newId())
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  expect(ids.every((id) => id % 64 === 7)).toBe(true)
})

const machine_ms = Date.UTC(2026, 5, 1)
const day_ms = 86_400_000

beforeEach(() => {
  vi.useFakeTimers({ now: machine_ms })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a sandbox clock', () => {
  test('is the time of the machine until it is steered', () => {
    const clock = sandboxClock()
    vi.advanceTimersByTime(1_000)
    expect([clock.now(), clock.offset_ms, clock.frozen]).toEqual([machine_ms + 1_000, 0, false])
  })

  test('runs on after an advance and after a set, back or forth', () => {
    const clock = sandboxClock()
    clock.advance(day_ms)
    vi.advanceTimersByTime(1_000)
    expect([clock.now(), clock.offset_ms]).toEqual([machine_ms + day_ms + 1_000, day_ms])
    clock.set(machine_ms - day_ms)
    vi.advanceTimersByTime(500)
    expect(clock.now()).toBe(machine_ms - day_ms + 500)
    clock.set(null)
    expect([clock.now(), clock.offset_ms]).toEqual([machine_ms + 1_500, 0])
  })

  test('frozen stands still but for moves, and resumes from where it stands', () => {
    const clock = sandboxClock()
    clock.freeze()
    vi.advanceTimersByTime(60_000)
    expect([clock.now(), clock.offset_ms, clock.frozen]).toEqual([machine_ms, -60_000, true])
    clock.advance(10)
    clock.freeze()
    expect(clock.now()).toBe(machine_ms + 10)
    clock.resume()
    vi.advanceTimersByTime(5)
    expect([clock.now(), clock.frozen]).toEqual([machine_ms + 15, false])
    clock.resume()
    expect(clock.now()).toBe(machine_ms + 15)
  })

  test('set to null while frozen stands still at the time of the machine', () => {
    const clock = sandboxClock()
    clock.freeze()
    clock.advance(day_ms)
    vi.advanceTimersByTime(1_000)
    clock.set(null)
    expect([clock.now(), clock.offset_ms, clock.frozen]).toEqual([machine_ms + 1_000, 0, true])
  })

  test('continues from the state that another clock stored', () => {
    const moved = sandboxClock()
    moved.advance(day_ms)
    const next = sandboxClock()
    next.restore(moved.state())
    vi.advanceTimersByTime(1_000)
    expect(next.now()).toBe(machine_ms + day_ms + 1_000)
    moved.freeze()
    const stood = moved.now()
    next.restore(moved.state())
    vi.advanceTimersByTime(1_000)
    expect([next.now(), next.frozen]).toEqual([stood, true])
    next.restore(null)
    expect([next.now(), next.frozen]).toEqual([machine_ms + 2_000, false])
  })
})

describe('alarms', () => {
  test('ring once, with time, also further away than a timer reaches', () => {
    const clock = sandboxClock()
    const rung: number[] = []
    clock.at(machine_ms + 40 * day_ms, () => rung.push(clock.now()))
    vi.advanceTimersByTime(40 * day_ms - 1)
    expect(rung).toEqual([])
    vi.advanceTimersByTime(day_ms)
    expect(rung).toEqual([machine_ms + 40 * day_ms])
  })

  test('of a move ring in order, at once; later ones ring earlier by the move', () => {
    const clock = sandboxClock()
    const rung: string[] = []
    clock.at(machine_ms + 3_000, () => rung.push('third'))
    clock.at(machine_ms + 1_000, () => rung.push('first'))
    clock.at(machine_ms + 2_000, () => rung.push('second'))
    clock.at(machine_ms + 9_000, () => rung.push('last'))
    clock.advance(3_000)
    expect(rung).toEqual(['first', 'second', 'third'])
    vi.advanceTimersByTime(5_999)
    expect(rung).toHaveLength(3)
    vi.advanceTimersByTime(1)
    expect(rung).toEqual(['first', 'second', 'third', 'last'])
  })

  test('wait longer after a move back, and for ever while the clock is frozen', () => {
    const clock = sandboxClock()
    const rung: number[] = []
    clock.at(machine_ms + 1_000, () => rung.push(clock.now()))
    clock.set(machine_ms - 4_000)
    vi.advanceTimersByTime(4_999)
    clock.freeze()
    vi.advanceTimersByTime(day_ms)
    expect(rung).toEqual([])
    clock.resume()
    vi.advanceTimersByTime(1)
    expect(rung).toEqual([machine_ms + 1_000])
  })

  test('that are due already ring on the next turn, frozen or not', () => {
    for (const clock of [sandboxClock(), manualClock(machine_ms)]) {
      let rung = 0
      clock.at(machine_ms, () => rung++)
      expect(rung).toBe(0)
      vi.advanceTimersByTime(0)
      expect(rung).toBe(1)
      clock.advance(1)
      expect(rung).toBe(1)
    }
  })

  test('can be cancelled, even by one that rings in the same move', () => {
    const clock = manualClock(machine_ms)
    const rung: string[] = []
    const cancel = clock.at(machine_ms + 2, () => rung.push('second'))
    clock.at(machine_ms + 1, () => {
      rung.push('first')
      cancel()
    })
    clock.at(machine_ms + 3, () => rung.push('never'))()
    clock.advance(day_ms)
    expect(rung).toEqual(['first'])
  })
})

test('a manual clock stands still from the start, and no kept state moves it', () => {
  const clock = manualClock()
  clock.restore({ offset_ms: day_ms, frozen_at_ms: null })
  vi.advanceTimersByTime(1_000)
  expect([clock.now(), clock.frozen]).toEqual([Date.UTC(2026, 0, 1), true])
})
