/** The command line in a terminal of its own: a pseudo-terminal made by script(1), which every Debian has. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from './process.ts'
import { createTerminalScreen, type TerminalScreen } from './terminal-screen.ts'

export interface Terminal {
  screen: TerminalScreen
  /** Types keys, as a terminal sends them. */
  type(keys: string): void
  /** Gives the terminal another size, as a person who drags its corner. */
  resize(columns: number, rows: number): void
  /** The screen as one text. */
  text(): string
  close(): Promise<void>
}

const bin = join(root, 'bin/svc.js')

/**
 * Runs `svc ARGS` at 80x24 under a shell, which afterwards tells the exit code and the terminal's settings: `code 0`,
 * then those of stty, and waits until it is closed.
 */
export async function openTerminal(args: string, env: Record<string, string>): Promise<Terminal> {
  const script = [
    'stty sane cols 80 rows 24',
    'echo "tty $(tty)"',
    `"${process.execPath}" "${bin}" ${args}`,
    'echo "code $?"',
    'stty -a',
    'read -r _',
  ].join('; ')
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', script, '/dev/null'], {
    env: { PATH: process.env.PATH, TERM: 'xterm-256color', SHELL: '/bin/sh', LANG: 'C.UTF-8', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const screen = createTerminalScreen(80, 24)
  const decoder = new TextDecoder()
  let all = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const text = decoder.decode(chunk, { stream: true })
    if (all.length < 1_000) all += text
    screen.write(text)
  })
  const closed = once(child, 'close')
  while (!/tty \S+\r?\n/.test(all)) await once(child.stdout, 'data')
  const tty = /tty (\S+)/.exec(all)![1]!
  return {
    screen,
    type: (keys) => void child.stdin.write(keys),
    resize(columns, rows) {
      execFileSync('stty', ['-F', tty, 'cols', String(columns), 'rows', String(rows)])
      screen.resize(columns, rows)
    },
    text: () => screen.lines().join('\n'),
    async close() {
      child.stdin.end('\n')
      const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
      await closed
      clearTimeout(timer)
    },
  }
}
