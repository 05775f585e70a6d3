/** What the process of svc takes from its platform, and what it does where that lacks something. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root, spawnSvc } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test('a runtime without a compile cache, such as Deno, starts it too', () => {
  const without = "data:text/javascript,import module from 'node:module'; delete module.enableCompileCache"
  const words = ['--import', without, join(root, 'bin/svc.js'), 'help', 'exit-codes']
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

test('a standard output that Node cannot open is named', () => {
  const broken =
    "data:text/javascript,Object.defineProperty(process, 'stdout', { get() { throw Object.assign(new Error('open EBADF'), { code: 'EBADF' }) } })"
  const words = ['--import', broken, join(root, 'bin/svc.js'), 'help', 'exit-codes']
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'error: The standard output cannot be opened: EBADF.\nhint: Redirect it to a file: svc ... > FILE\n',
  })
})

test('a start leaves the young generation at no more than 4 MB for each half, and sets five flags of the engine at most', async () => {
  const report = join(temporaryDirectory(), 'report.cjs')
  writeFileSync(
    report,
    `const v8 = require('node:v8')
    const { setFlagsFromString } = v8
    const flags = new Set()
    v8.setFlagsFromString = (flag) => { flags.add(flag.split('=')[0]); setFlagsFromString(flag) }
    process.on('exit', () => {
      const young = v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
      console.error(JSON.stringify([young.space_used_size + young.space_available_size, [...flags]]))
    })`,
  )
  const env = { SVC_HOME: temporaryDirectory(), NODE_OPTIONS: `--require ${JSON.stringify(report)}` }
  const { child, firstLine, ended } = spawnSvc(['start', '-q', '-o', 'json', '--ephemeral', '--port', '0'], env)
  await firstLine
  child.kill('SIGTERM')
  const { code, stderr } = await ended
  expect(code).toBe(0)
  const [young, flags] = JSON.parse(stderr) as [number, string[]]
  expect(young).toBeLessThanOrEqual(4 * 2 ** 20)
  // The engine expects others to stay as they are: one for regular expressions, set at this point, ended 1 start of 100.
  const ofSize = [
    '--heap-growing-percent',
    '--no-maglev-destroy-on-background',
    '--no-parallel-scavenge',
    '--semi-space-growth-factor',
  ]
  expect(flags.filter((flag) => !ofSize.includes(flag))).toEqual(['--invocation-count-for-turbofan'])
  expect(flags).toContain('--heap-growing-percent')
})

test('a reader that closes the pipe is no error', async () => {
  const { child, ended } = spawnSvc(['help', 'settings'], { SVC_HOME: temporaryDirectory() })
  child.stdout?.destroy()
  expect(await ended).toMatchObject({ code: 0, stderr: '' })
})
