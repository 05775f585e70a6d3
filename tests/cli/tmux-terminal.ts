/** A window of a private tmux server. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type Terminal, type TerminalOptions, terminalEnvironment, terminalScript, usualSize } from './terminal.ts'

export const isTmuxInstalled = spawnSync('tmux', ['-V']).status === 0

export async function openTmux(
  args: string,
  env: Record<string, string>,
  { columns, rows, has_jobs }: TerminalOptions = usualSize,
): Promise<Terminal> {
  const folder = temporaryDirectory()
  const script = terminalScript(args, has_jobs)
  const tmux = (...words: string[]) =>
    execFileSync('tmux', ['-f', '/dev/null', '-S', join(folder, 'socket'), ...words], {
      env: terminalEnvironment(env),
      encoding: 'utf8',
    })
  const size = ['-x', String(columns), '-y', String(rows)]
  const setup = [
    'start-server',
    ';',
    'set',
    '-g',
    'status',
    'off',
    ';',
    'set',
    '-s',
    'escape-time',
    '0',
    ';',
    'set',
    '-s',
    'set-clipboard',
    'on',
    ';',
  ]
  tmux(...setup, 'new-session', '-d', ...size, 'sh', '-c', script.text)
  const isOn = (name: string) => tmux('display-message', '-p', `#{${name}}`).trim() === '1'
  return {
    type: (keys) => void tmux('send-keys', '-H', ...[...Buffer.from(keys)].map((byte) => byte.toString(16))),
    resize: (columns, rows) => void tmux('resize-window', '-x', String(columns), '-y', String(rows)),
    lines: () => tmux('capture-pane', '-p').replace(/\n$/, '').split('\n'),
    isAlternate: () => isOn('alternate_on'),
    isCursorShown: () => isOn('cursor_flag'),
    clipboard: () => tmux('show-buffer'),
    pid: script.pid,
    async close() {
      tmux('kill-server')
    },
  }
}
