/** Writes the matrix of docs/guides/hosts.md from a run in a real browser: `node build/docs/hosts.ts`, after a build. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CauseRow } from '#hosts/matrix.ts'
import { withMatrix } from './hosts-matrix.ts'

const file = join(import.meta.dirname, '../../docs/guides/hosts.md')
const program = join(import.meta.dirname, '../../bin/svc.js')
writeFileSync(file, withMatrix(readFileSync(file, 'utf8'), run()))

/** Exit code 5 is the expected one: no page shows an ad in every host. */
function run(): CauseRow[] {
  const args = [program, 'qa', 'hosts', '-q', '-o', 'json']
  let text = ''
  try {
    text = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  } catch (error) {
    text = (error as { stdout: string }).stdout
  }
  return (JSON.parse(text) as { conditions: CauseRow[] }).conditions
}
