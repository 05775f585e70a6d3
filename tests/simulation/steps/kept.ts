/** Histories that have failed once, in seeds.jsonl: with their steps, since those of a seed change with how they are drawn. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { History } from './steps.ts'

interface Kept extends History {
  seed: number
  /** What it showed, as a clause. */
  found: string
}

export function readKept(): Kept[] {
  const text = readFileSync(join(import.meta.dirname, '../seeds.jsonl'), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Kept)
}
