/** `svc init` as a process: in a terminal, and from the copy of the package in a project. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { listTemplates } from '#scaffold/templates.ts'
import { root } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

let cwd: string
beforeEach(() => {
  cwd = temporaryDirectory()
})

test('a real terminal: answers, and Ctrl-C', async () => {
  // Arrow keys: the list wraps, so up and down return to the first.
  const printed = await onTerminal([
    ['Template (', '\u001b[A'],
    [new RegExp(`^> ${listTemplates().length} `, 'm'), '\u001b[B'],
    [/^> 1 /m, '\r'],
    ['Directory [my-agent-cli]', 'mine\r'],
  ])
  expect(printed).toContain('npm run dev')
  expect(printed).toContain('code 0')
  expect(existsSync(join(cwd, 'mine/package.json'))).toBe(true)
  expect(await onTerminal([['Template (', '\u0003']])).toContain('code 130')
  const numbered = [
    [`Template (1-${listTemplates().length}`, '1\r'],
    ['Directory [', 'other\r'],
  ] as const
  expect(await onTerminal(numbered, 'dumb')).toContain('code 0')
  expect(readdirSync(cwd).filter((name) => !name.startsWith('.'))).toEqual(['mine', 'other'])
})

test('the package in a project creates the same project, with the same package', () => {
  const init = (bin: string, words: string) =>
    execFileSync(process.execPath, [join(bin, 'bin/svc.js'), ...`init ${words}`.split(' ')], {
      cwd,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, SVC_HOME: join(cwd, '.home') },
    })
  init(root, 'agent-cli my-agent -q -o none')
  const archiveIn = (project: string) => join(cwd, project, globSync('vendor/*.tgz', { cwd: join(cwd, project) })[0]!)
  execFileSync('tar', ['-xzf', archiveIn('my-agent')], { cwd })
  const packed = join(cwd, 'package')
  const summaries = listTemplates().map(({ name, summary }) => ({ name, summary }))
  expect(JSON.parse(init(packed, '--list -o json'))).toEqual({ items: summaries })
  init(packed, 'agent-cli again -q -o none')
  expect(readFileSync(archiveIn('again')).equals(readFileSync(archiveIn('my-agent')))).toBe(true)
})

/** Runs `svc init` in a pseudo-terminal, types each text after what is to be on it, and returns all that it printed. */
async function onTerminal(turns: readonly (readonly [on: string | RegExp, keys: string])[], TERM = 'xterm') {
  const command = `stty cols 80 rows 24; trap : INT; "${process.execPath}" "${join(root, 'bin/svc.js')}" init; echo "code $?"`
  const child = spawn('script', ['--quiet', '--flush', '--command', command, '/dev/null'], {
    cwd,
    // With CI set, Ink would show nothing before the answer.
    env: { PATH: process.env.PATH, SVC_HOME: join(cwd, '.home'), TERM, NO_COLOR: '1', CI: '1', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let all = ''
  let unread = ''
  const open = [...turns]
  child.stdout.on('data', (chunk: Buffer) => {
    all += chunk.toString()
    unread += stripVTControlCharacters(chunk.toString())
    const [on, keys] = open[0] ?? []
    if (
      on === undefined ||
      keys === undefined ||
      unread.search(typeof on === 'string' ? on.replace(/[[(]/g, '\\$&') : on) === -1
    )
      return
    open.shift()
    unread = ''
    child.stdin.write(keys)
  })
  await once(child, 'close')
  return all
}
