/** The tasks that need a language beside Node, by name. Imports nothing of the tasks: the configuration of vitest loads it. */
import { spawnSync } from 'node:child_process'

interface Language {
  name: string
  /** The command that succeeds where it is installed. */
  check: readonly [program: string, ...args: string[]]
}

const needs: Readonly<Record<string, Language>> = {
  'first-slot-go': { name: 'Go', check: ['go', 'version'] },
  'first-slot-python': { name: 'Python', check: ['python3', '-c', 'import http.server'] },
}

/** Returns the names of the tasks that cannot be graded here, each with the language that is missing. */
export function findUngradable(): Map<string, string> {
  const missing = Object.entries(needs).filter(([, { check }]) => !runs(check))
  return new Map(missing.map(([task, { name }]) => [task, name]))
}

function runs([program, ...args]: Language['check']): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0
}
