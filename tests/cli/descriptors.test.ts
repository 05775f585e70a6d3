/** A sandbox that has used up its file descriptors says so; tests/processes has one with a low limit. */
import { expect, test, vi } from 'vitest'
import { watchDescriptors } from '#platform/descriptors.ts'

test('a lack that comes and goes is reported once a minute, and other failures are none', () => {
  vi.useFakeTimers()
  const reports: string[] = []
  let code: string | null = 'EMFILE'
  const watch = watchDescriptors(
    (warning) => reports.push(warning.message),
    () => {
      if (code !== null) throw Object.assign(new Error(code), { code, errno: -1 })
    },
  )
  vi.advanceTimersByTime(1_000)
  expect(watch.problem()).toBe('this process has too many files and connections open')
  code = null
  vi.advanceTimersByTime(1_000)
  expect(watch.problem()).toBeNull()
  code = 'ENFILE'
  vi.advanceTimersByTime(1_000)
  expect(watch.problem()).toBe('this computer has too many files open')
  expect(reports).toHaveLength(1)
  code = null
  vi.advanceTimersByTime(60_000)
  code = 'ENFILE'
  vi.advanceTimersByTime(1_000)
  expect(reports).toHaveLength(2)
  code = 'EACCES'
  expect(watch.problem()).toBeNull()
  watch.stop()
  vi.useRealTimers()
})
