/** Long lists in a pager, as git and gh do: on a terminal, when they are longer than the screen. */
import { spawnSync } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import type { Host } from '../run/host.ts'

/** What a shell answers when there is no such program; Windows has a number of its own. */
const notFound = [127, 9009]

/**
 * Shows `text` in the pager, and comes back when it is closed. False when nothing was shown, and it is to be printed:
 * not on a terminal, no longer than the screen, no pager wanted (SVC_PAGER or PAGER is empty or cat), or none there.
 */
export function showInPager({ stdout, env, platform }: Host, text: string): boolean {
  const { is_terminal, rows, columns = 80 } = stdout
  if (!is_terminal || env.TERM === 'dumb' || rows === undefined || rowsOf(text, columns) < rows) return false
  const isWindows = platform === 'win32'
  const command = (env.SVC_PAGER ?? env.PAGER ?? (isWindows ? 'more' : 'less')).trim()
  if (command === '' || command === 'cat') return false
  // Asked before, so that a shell without the program says nothing on the terminal.
  const line = isWindows ? command : `command -v ${command.split(' ')[0]} >/dev/null 2>&1 || exit 127; ${command}`
  const { status, error } = spawnSync(line, {
    shell: true,
    input: text,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', LV: '-c', ...env },
  })
  // A pager that is closed before it has read all (EPIPE) has shown what was wanted.
  const isStarted = error === undefined || (error as NodeJS.ErrnoException).code === 'EPIPE'
  return isStarted && !notFound.includes(status ?? 0)
}

/** How many rows a text takes on a screen of this width. */
function rowsOf(text: string, columns: number): number {
  return text
    .trimEnd()
    .split('\n')
    .reduce((rows, line) => rows + Math.max(1, Math.ceil(stripVTControlCharacters(line).length / columns)), 0)
}
