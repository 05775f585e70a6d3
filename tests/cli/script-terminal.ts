/** A pseudo-terminal made by script(1). */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Terminal, type TerminalOptions, terminalEnvironment, terminalScript, usualSize } from './terminal.ts'
import { createTerminalScreen, type TerminalScreen } from './terminal-screen.ts'

export async function openScript(
  args: string,
  env: Record<string, string>,
  { columns, rows, has_jobs }: TerminalOptions = usualSize,
): Promise<Terminal & { screen: TerminalScreen }> {
  const script = terminalScript(args, has_jobs)
  const command = `stty sane cols ${columns} rows ${rows}; ${script.text}`
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
    env: terminalEnvironment(env),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const screen = createTerminalScreen(columns, rows)
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
    lines: screen.lines,
    isAlternate: () => screen.is_alternate,
    isCursorShown: () => screen.is_cursor_shown,
    clipboard: () => screen.clipboard,
    pid: script.pid,
    async close() {
      child.stdin.end('\n')
      const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
      await closed
      clearTimeout(timer)
    },
  }
}
