/** Long text in a pager, as git and gh show them. It starts a program, which the rest of the output does not. */

import { spawnSync } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { readErrorCode } from '#foundation/system-error.ts'
import { isDumbTerminal } from '#text/terminal.ts'
import { textWidth } from '#text/text.ts'
import type { System } from '../run/system.ts'

/** Exit codes of a shell for a missing program; Windows has its own. */
const notFound = [127, 9009]

/**
 * Shows a text in a pager until you close it, as git and gh do. Returns false when nothing was shown and the text still
 * has to be printed: there is no terminal, the text fits the screen, no pager is wanted (SVC_PAGER or PAGER is empty or
 * cat), or it is not installed.
 */
export function showInPager(system: System, text: string): boolean {
  const { stdout, env, platform } = system
  const { is_terminal, rows, columns = 80 } = stdout
  if (!is_terminal || isDumbTerminal(system) || rows === undefined || countRows(text, columns) < rows) return false
  const isWindows = platform === 'win32'
  const command = (env.SVC_PAGER ?? env.PAGER ?? (isWindows ? 'more' : 'less')).trim()
  if (command === '' || command === 'cat') return false
  // Checked first, so that a shell without the program prints no message on the terminal.
  const line = isWindows ? command : `command -v ${command.split(' ')[0]} >/dev/null 2>&1 || exit 127; ${command}`
  const { status, error } = spawnSync(line, {
    shell: true,
    input: text,
    stdio: ['pipe', 'inherit', 'inherit'],
    // The output is UTF-8 even where no locale says so, as in most containers.
    env: { LESS: 'FRX', LESSCHARSET: 'utf-8', LV: '-c', ...env },
  })
  // EPIPE: the pager was closed before it had read everything, which is fine.
  const isStarted = error === undefined || readErrorCode(error) === 'EPIPE'
  return isStarted && !notFound.includes(status ?? 0)
}

/** Returns the number of rows that a text takes on a screen of this width. */
function countRows(text: string, columns: number): number {
  return text
    .trimEnd()
    .split('\n')
    .reduce((rows, line) => rows + Math.max(1, Math.ceil(textWidth(stripVTControlCharacters(line)) / columns)), 0)
}
