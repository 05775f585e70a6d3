/** Which processes above a command are watched, on a clock of the test. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { keptStream, testHost } from '#tests/cli/test-host.ts'
import { watchParents } from './parents.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const own = 10

/** Watches from a process whose parents have these names, the nearest first. Their ids are 11, 12 and so on; null has ended. */
function watch(names: readonly (string | null)[]) {
  const parents = names.map((name, index) => ({ pid: own + 1 + index, name }))
  const ended: number[] = []
  const findParent = (pid: number) => parents[pid - own] ?? { pid: 1, name: 'init' }
  const stream = keptStream(false)
  const host = testHost({ env: {}, stdin: '', cwd: '/', stdout: stream, stderr: stream })
  const unwatch = watchParents({ ...host, pid: own, findParent }, (pid) => ended.push(pid))
  /** Ends a parent: its child becomes one of init. */
  const end = (pid: number) => parents.splice(pid - own - 1, names.length, { pid: 1, name: 'init' })
  return { ended, end, unwatch }
}

test.each([
  ['npm', ['npm run start']],
  ['a shell of npm', ['sh', 'npm run start']],
  ['a login shell of yarn', ['-bash', 'yarn']],
  ['a runtime without a name', [null]],
])('the end of each process up to a package manager is noticed, once: %s', (_, names) => {
  for (const [index] of names.entries()) {
    const { ended, end } = watch(names)
    vi.advanceTimersByTime(10_000)
    expect(ended).toEqual([])
    end(own + 1 + index)
    vi.advanceTimersByTime(10_000)
    expect(ended).toEqual([own + 1 + index])
  }
})

test.each([
  ['a shell', ['bash']],
  ['a shell of a terminal', ['zsh', 'gnome-terminal']],
  ['a service manager', ['systemd', 'npm']],
  ['nothing but init', []],
])('what no package manager runs outlives its starter: %s', (_, names) => {
  const { ended, end } = watch(names)
  expect(vi.getTimerCount()).toBe(0)
  end(own + 1)
  vi.advanceTimersByTime(10_000)
  expect(ended).toEqual([])
})

test('a watch that ended notices nothing', () => {
  const { ended, end, unwatch } = watch(['npm'])
  unwatch()
  end(own + 1)
  vi.advanceTimersByTime(10_000)
  expect(ended).toEqual([])
})
