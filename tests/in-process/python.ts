/** Python with pytest, as far as this computer has it: Debian's python3-pytest, or that of another python3. */
import { spawnSync } from 'node:child_process'

const names = ['python3', '/usr/bin/python3']
const script = 'import sys, pytest; print(sys.executable)'

/** Returns the path of the first Python that has pytest, or null. */
export function findPytest(): string | null {
  const runs = names.map((name) => spawnSync(name, ['-c', script], { encoding: 'utf8' }))
  return runs.find(({ status }) => status === 0)?.stdout.trim() ?? null
}
