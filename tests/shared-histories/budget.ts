/** How long the histories take, and where they are written. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from './run.ts'

const number = (name: string, usual: number) => Number(process.env[name] ?? usual)

/** How long new histories are run: `npm run test:shared` 25 s, the release checks an hour. */
export const suiteSeconds = number('SHARED_SECONDS', 25)
/** The first seed; each further history has the next one. */
export const firstSeed = number('SHARED_SEED', Math.floor(Math.random() * 1e9))
/** How long clients work in one history. */
export const historySeconds = number('SHARED_HISTORY_SECONDS', suiteSeconds > 120 ? 45 : 12)
/** How long a node is paused: more than the 10 s of its number, in long runs more than the 30 s of a callback's attempt. */
export const pauseSeconds = number('SHARED_PAUSE_SECONDS', suiteSeconds > 120 ? 32 : 11)

/** The folder of histories that are to be looked at: the temporary one of the system, which outlives a run. */
const folder = join(process.env.SHARED_HISTORIES ?? '/tmp', 'svc-shared-histories')

/** Writes a history as lines of JSON: what was found, faults, operations, what followers got, and the state. Returns the file. */
export function writeHistory({ history, exported, problems }: Run): string {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `seed-${history.seed}-${Date.now()}.jsonl`)
  const lines = [
    ...problems.map((problem) => ({ problem })),
    ...history.faults.map((fault) => ({ fault })),
    ...history.operations.map((operation) => ({ operation })),
    ...history.followed.map((followed) => ({ followed })),
    ...history.callbacks.map((callback) => ({ callback })),
    { state: { ...exported, chains: [...exported.chains], revisions: [...exported.revisions] } },
  ]
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  return file
}
