/** Each task notices what is wrong: its right solution passes, and every other patch fails for the reason that is stated. */
import { expect, test, vi } from 'vitest'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { grade } from './grade.ts'
import { findUngradable } from './languages.ts'
import { applyPatches, copyProject, listPatches, listSolutions } from './project.ts'
import type { Task } from './task.ts'
import { tasks } from './tasks.ts'

// Each has a server and most have a page: more at once starve each other.
vi.setConfig({ maxConcurrency: 2 })

const missing = findUngradable()

const cases = tasks
  .filter(({ name }) => !missing.has(name))
  .flatMap((task) => listSolutions(task).map((solution) => ({ task, name: task.name, solution })))

test.concurrent.for(cases)('$name: $solution', async ({ task, solution }) => {
  using project = copyProject(task)
  applyPatches(project.directory, listPatches(task, solution))
  const { passed, reasons } = await grade(task, project.directory, sharedChromium)
  if (solution === 'right') return expect(reasons).toEqual([])
  expect(passed).toBe(false)
  expect(reasons[0]?.code, reasons.map(({ code, message }) => `${code}: ${message}`).join('\n')).toBe(
    (task.solutions as Record<string, string>)[solution],
  )
})

test.for(tasks.map((task) => ({ task, name: task.name })))(
  '$name has a right solution, three wrong ones and an attack, each with its reason',
  ({ task }) => {
    const solutions = listSolutions(task)
    expect(solutions.filter((name) => name !== 'right').toSorted()).toEqual(Object.keys(task.solutions).toSorted())
    expect(solutions).toContain('right')
    expect(solutions.filter((name) => name.startsWith('wrong-')).length).toBeGreaterThanOrEqual(3)
    expect(solutions.filter((name) => name.startsWith('attack'))).toHaveLength(1)
  },
)

test('a project that nobody has worked on fails, and so does an empty folder', async () => {
  const [task] = tasks as readonly [Task]
  using project = copyProject(task)
  expect((await grade(task, project.directory, sharedChromium)).passed).toBe(false)
  using empty = copyProject({ name: 'no-such-task' })
  expect((await grade(task, empty.directory, sharedChromium)).reasons[0]?.code).toBe('broken')
})

test('a grader that looked at nothing fails', async () => {
  const [task] = tasks as readonly [Task]
  using project = copyProject(task)
  const { reasons } = await grade({ ...task, grade: async () => {} }, project.directory, sharedChromium)
  expect(reasons.map(({ code }) => code)).toEqual(['nothing_graded'])
})
