/**
 * The command line in a terminal. There are two kinds: a pseudo-terminal of script(1), which every Debian has, whose output
 * `terminal-screen.ts` reads; and tmux, a complete terminal, where it is installed.
 */
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { temporaryDirectory } from '#tests/temporary.ts'
import { root } from './process.ts'

export interface Terminal {
  /** Types keys, as a terminal sends them. */
  type(keys: string): void
  /** Resizes the terminal, as dragging its corner does. */
  resize(columns: number, rows: number): void
  /** The lines of the screen that is shown, without trailing blanks. */
  lines(): string[]
  isAlternate(): boolean
  isCursorShown(): boolean
  /** The text that the program put into the clipboard last; '' before. */
  clipboard(): string
  /** The process of svc. */
  pid(): number
  close(): Promise<void>
}

/** What a terminal runs: one line for /bin/sh. */
export interface TerminalScript {
  text: string
  pid(): number
}

export interface TerminalSize {
  columns: number
  rows: number
}

export interface TerminalOptions extends TerminalSize {
  /** Whether the shell has job control: Ctrl-Z shows `stopped`, and Enter continues the program. */
  has_jobs?: boolean
}

/** The initial size of terminals. */
export const usualSize: TerminalSize = { columns: 80, rows: 24 }

const bin = join(root, 'bin/svc.js')

/**
 * Returns `svc ARGS` under a shell, which then prints the exit code, as `code 0`, and the terminal's settings by stty, and
 * waits until it is closed.
 */
export function terminalScript(args: string, has_jobs = false): TerminalScript {
  const file = join(temporaryDirectory(), 'pid')
  const lines = [
    ...(has_jobs ? ['set -m'] : []),
    'echo "tty $(tty)"',
    `sh -c 'echo $$ > "${file}"; exec "${process.execPath}" "${bin}" ${args}'`,
    ...(has_jobs ? ['echo "stopped $?"', 'stty -a', 'read -r _', 'fg'] : []),
    'echo "code $?"',
    'stty -a',
    'read -r _',
  ]
  return {
    text: lines.join('; '),
    pid: () => Number(readFileSync(file, 'utf8')),
  }
}

/** The environment of the shell in a terminal. */
export function terminalEnvironment(env: Record<string, string>): Record<string, string | undefined> {
  return { PATH: process.env.PATH, TMPDIR: tmpdir(), TERM: 'xterm-256color', SHELL: '/bin/sh', LANG: 'C.UTF-8', ...env }
}
