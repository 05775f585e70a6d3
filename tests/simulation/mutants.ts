/**
 * `node tests/simulation/mutants.ts [all HISTORIES]`: which faults of the product the histories of the first seeds notice, and by which
 * model. Writes mutants.md. The seeds are always the same, so the table changes only with the code.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Edit } from '#tests/mutations/mutation.ts'
import { mutations } from '#tests/mutations/mutations.ts'
import { storeMutations } from '#tests/mutations/store/mutations.ts'
import { faults } from './faults.ts'
import { runHistory } from './history/history.ts'
import { loadProduct } from './product.ts'
import { drawHistory } from './steps/draw.ts'
import { tours } from './steps/tours.ts'
import { removeDisks } from './virtual/disk.ts'

/** Faults of what the models know: not those of shapes, frames, CORS and the renderer, which the suites of `svc qa` notice. */
const about = new Set(['consent', 'credentials', 'decision', 'beacons', 'billing', 'limits'])
const sections: [title: string, edits: readonly Edit[]][] = [
  ['Put in for the simulator', faults],
  ['Rules of the store', storeMutations.sqlite],
  ['Rules of the API', mutations.filter((mutation) => about.has(mutation.about))],
]
const all = sections.flatMap(([, edits]) => edits)

/** Why no history can show a fault. */
const unnoticed: Readonly<Record<string, string>> = {
  beacon_without_slot: 'nothing: a reset waits for the requests under way, so only a second node can meet it',
  failed_write_stays: 'nothing: no request makes a write fail halfway',
  consent_compared_by_revision: 'nothing: a renewal that is written over another one is what both asked for',
  decided_twice: 'nothing: one process decides a slot once, so only a second node can meet it',
}

interface Noticed {
  name: string
  /** The history that has noticed it. */
  by: string | null
  model: string | null
}

/** Histories that each fault has, from seed 1. */
const [part = 'all', histories = '12'] = process.argv.slice(2)
const budget = Number(histories)
if (part === 'all') await writeTable()
else await runPart(...(part.split('/').map(Number) as [number, number]))

/** Runs every so many of them, and prints a line of JSON for each. */
async function runPart(from: number, parts: number): Promise<void> {
  for (const [index, edit] of all.entries()) {
    if (index % parts !== from) continue
    const noticed = await notice(edit)
    process.stdout.write(`${JSON.stringify(noticed)}\n`)
  }
  removeDisks()
  process.exit()
}

async function notice(edit: Edit): Promise<Noticed> {
  const start = await loadProduct(edit)
  for (const { name: tour, ...history } of tours) {
    const { problem } = await runHistory({ ...history, start })
    if (problem !== null) return { name: edit.name, by: `tour: ${tour}`, model: problem.model }
  }
  for (let seed = 1; seed <= budget; seed++) {
    const { problem } = await runHistory({ seed, ...drawHistory(seed), start })
    if (problem !== null) return { name: edit.name, by: `seed ${seed}`, model: problem.model }
  }
  return { name: edit.name, by: null, model: null }
}

async function writeTable(): Promise<void> {
  const parts = availableParallelism()
  const found = new Map<string, Noticed>()
  const read = async (from: number) => {
    const stdio = ['ignore', 'pipe', 'inherit'] as const
    const child = spawn(process.execPath, [import.meta.filename, `${from}/${parts}`, histories], { stdio: [...stdio] })
    const ended = once(child, 'close')
    for await (const line of createInterface(child.stdout!)) {
      const noticed = JSON.parse(line) as Noticed
      found.set(noticed.name, noticed)
    }
    const [code] = await ended
    if (code !== 0) throw new Error(`part ${from} ended with ${code}`)
  }
  await Promise.all(Array.from({ length: parts }, (_, from) => read(from)))
  writeFileSync(join(import.meta.dirname, 'mutants.md'), table(found))
}

function table(found: ReadonlyMap<string, Noticed>): string {
  const noticed = all.filter(({ name }) => found.get(name)?.by != null).length
  const lines = [
    '# Faults that the simulator notices',
    '',
    'Written by `node tests/simulation/mutants.ts`. Each fault is put into the product as an edit of its source. It then goes through',
    `[the tours](steps/tours.ts), which do everything once, and through ${budget} histories at most, those of the seeds from 1.`,
    `${noticed} of ${all.length} are noticed. [The suite](simulation.test.ts) gives each of the first section two minutes, and finds all of them.`,
    'What no history can show is noticed by [tests/mutations](../mutations/mutations.ts).',
  ]
  for (const [title, edits] of sections) {
    lines.push('', `## ${title}`, '', '| Fault | What is wrong | Noticed by the model of | In |', '|---|---|---|---|')
    for (const { name, wrong } of edits) {
      const { by = null, model = null } = found.get(name) ?? {}
      lines.push(`| \`${name}\` | ${wrong} | ${model ?? 'none'} | ${by ?? unnoticed[name] ?? 'a longer search'} |`)
    }
  }
  return `${lines.join('\n')}\n`
}
