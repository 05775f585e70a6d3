/** The harness with scripted agents: those that work, and those that do not behave. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type AgentOptions, findChanged, listFiles, runAgent } from './agent.ts'
import { canConfine } from './confine.ts'
import { OptionError, readOptions, splitWords } from './options.ts'
import { runProgram } from './program.ts'
import { checkout, copyProject } from './project.ts'
import { createReport, toMarkdown } from './report.ts'
import { tasks } from './tasks.ts'

const task = tasks.find(({ name }) => name === 'polling-deadline')!
const script = (name: string) => join(import.meta.dirname, 'agents', name)
const limits = { time_ms: 60_000, output_bytes: 1e7 }

function options(command: string[], more: Partial<AgentOptions> = {}): AgentOptions {
  return { command, help: 'none', passed: [], ...limits, ...more }
}

const apply = (solution: string) => [process.execPath, script('apply.ts'), solution, '{prompt}', '{dir}']

test('an agent that solves a task passes, one that does nothing fails, and the report has both', async () => {
  const good = await runAgent(task, options(apply('right'), { help: 'skill' }), sharedChromium)
  expect(good.verdict.reasons).toEqual([])
  expect(good).toMatchObject({ code: 0, limit: null, verdict: { passed: true, billed: { viewable_impression: 1 } } })
  const idle = await runAgent(task, options([process.execPath, '-e', '0', '{prompt}']), sharedChromium)
  expect(idle.verdict.reasons[0]?.code).toBe('late_fill_lost')
  const offered = [{ help: 'skill' as const, tokens: 900 }]
  const report = createReport({ agent: 'apply', repeat: 1, offered, runs: [good, idle], left_out: ['x, because'] })
  const text = toMarkdown(report)
  expect(text).toContain('| polling-deadline | 1/1 | 0/1 |')
  expect(text).toContain('| tokens offered, about | 900 | 0 |')
  expect(text).toContain('| late_fill_lost | 1 |')
  expect(text).toContain('Left out: x, because.')
})

test.for(['none', 'agents-md', 'skill', 'mcp'] as const)(
  'with %s an agent finds that help, and no other',
  async (help) => {
    const files = ['AGENTS.md', '.agents/skills/svc-placements/SKILL.md', '.mcp.json']
    const list = `console.log(JSON.stringify(${JSON.stringify(files)}.filter((name) => fs.existsSync(name))))`
    const { output } = await runAgent(task, options([process.execPath, '-e', list], { help }), sharedChromium)
    const expected = { none: [], 'agents-md': files.slice(0, 1), skill: files.slice(1, 2), mcp: files.slice(2) }[help]
    expect(JSON.parse(output)).toEqual(expected)
  },
)

describe.each([true, false].filter((isConfined) => !isConfined || canConfine()))('confined: %s', (isConfined) => {
  const run = (words: string[], more = {}) => {
    const directory = temporaryDirectory()
    return runProgram([process.execPath, script('unruly.js'), ...words], { directory, isConfined, ...limits, ...more })
  }

  test('one that hangs, whatever it is asked, is ended by its limit of time', async () => {
    expect(await run(['hang'], { time_ms: 500 })).toMatchObject({ code: null, limit: 'time' })
  })

  test('one that prints a gigabyte is ended by its limit of output, and little of it is kept', async () => {
    const { limit, output } = await run(['print'])
    expect(limit).toBe('output')
    expect(output.length).toBeLessThanOrEqual(8_000)
  })

  test('a process that it leaves in a session of its own ends with it', async () => {
    const mark = `left-${isConfined}-${process.pid}`
    // Elsewhere there is nothing to look for them in.
    const alive = () =>
      (process.platform === 'linux' ? readdirSync('/proc') : []).filter(
        (pid) => /^\d+$/.test(pid) && commandOf(pid).includes(mark),
      )
    expect(await run(['leave', mark])).toMatchObject({ code: 0, limit: null })
    await expect.poll(alive).toEqual([])
  })

  test('it gets no variable of this computer, and a home of its own', async () => {
    const script = 'console.log(JSON.stringify(Object.keys(process.env)), os.homedir())'
    const directory = temporaryDirectory()
    const words = [process.execPath, '-e', script]
    const { output } = await runProgram(words, { directory, isConfined, ...limits })
    const [names = '[]', home] = output.trim().split(' ')
    expect((JSON.parse(names) as string[]).filter((name) => /TOKEN|SECRET|VITEST|npm_/.test(name))).toEqual([])
    expect(home).not.toBe(homedir())
  })
})

if (canConfine()) {
  test('writes outside of the folder are refused, also after an attempt to mount it writable', async () => {
    const other = temporaryDirectory()
    const directory = temporaryDirectory()
    for (const path of [join(checkout, 'tests/evals/tampered.ts'), join(other, 'file'), join(homedir(), 'tampered')]) {
      const words = [process.execPath, script('unruly.js'), 'outside', path]
      const { code, output } = await runProgram(words, { directory, ...limits })
      expect([code, /EROFS|EACCES|ENOENT/.test(output), existsSync(path)]).toEqual([1, true, false])
      const remount = ['sh', '-c', `mount -o remount,rw,bind / ; mount -o remount,rw / ; echo > '${path}'`]
      expect((await runProgram(remount, { directory, ...limits })).code).not.toBe(0)
      expect(existsSync(path)).toBe(false)
    }
  })
}

test('without namespaces each file of a folder that was written, added or removed is noticed', () => {
  const folder = temporaryDirectory()
  mkdirSync(join(folder, 'a/b'), { recursive: true })
  for (const name of ['a/b/one', 'two', 'three']) writeFileSync(join(folder, name), 'text')
  const before = listFiles(folder)
  expect(findChanged(before, listFiles(folder))).toEqual([])
  writeFileSync(join(folder, 'a/b/one'), 'longer text')
  rmSync(join(folder, 'two'))
  writeFileSync(join(folder, 'four'), '')
  expect(findChanged(before, listFiles(folder)).toSorted()).toEqual(['a/b/one', 'four', 'two'])
})

test('what an agent leaves in its folder is graded as a copy: the folder stays as it is', async () => {
  using project = copyProject(task)
  const before = listFiles(project.directory)
  const { grade } = await import('./grade.ts')
  await grade(task, project.directory, sharedChromium)
  // Its packages are links to those of the checkout, where other tests run.
  const changed = findChanged(before, listFiles(project.directory)).filter((file) => !file.startsWith('node_modules/'))
  expect(changed).toEqual([])
})

test('the command line: wrong options first, then a copied project that is graded', () => {
  const evals = (...args: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, 'run.ts'), ...args], { encoding: 'utf8' })
  const wrong = evals('--tasks', 'poling')
  expect([wrong.status, wrong.stderr.split('\n')[0]]).toEqual([
    2,
    expect.stringContaining('There is no task poling. There are: '),
  ])
  const folder = join(temporaryDirectory(), 'work')
  expect(evals('--tasks', task.name, '--copy', folder).stdout).toContain(task.prompt)
  const graded = evals('--tasks', task.name, folder)
  expect([graded.status, graded.stdout]).toEqual([1, expect.stringContaining('polling-deadline: failed')])
})

test.for<[string[], RegExp]>([
  [[], /one of --agent, --copy, or a folder/],
  [['--agent', 'x {prompt}', 'folder'], /one of --agent/],
  [['folder'], /Name one task/],
  [['--agent', 'x'], /no \{prompt\}/],
  [['--agent', 'x {prompt}', '--with', 'luck'], /none, agents-md, skill, mcp, not luck/],
  [['--agent', 'x {prompt}', '--repeat', '0'], /--repeat takes a whole number from 1, not 0/],
  [['--agent', 'x {prompt}', '--time', 'soon'], /90s or 10m, not soon/],
  [['--agnet', 'x'], /agnet/],
])('wrong options %j are explained', ([args, message]) => {
  expect(() => readOptions(args)).toThrow(OptionError)
  expect(() => readOptions(args)).toThrow(message)
})

test('a command line is split at blanks, but not in quotes', () => {
  expect(splitWords(`agent -p "{prompt}" --dir={dir} 'a b'`)).toEqual(['agent', '-p', '{prompt}', '--dir={dir}', 'a b'])
})

/** Empty for a process that has ended. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
