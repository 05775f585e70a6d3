/**
 * `npm run fuzz -- [target ...] [--seconds N] [--seed N] [--keep]`: the coverage-guided fuzzer on the parsers of files from
 * strangers, for N seconds in all; `npm run fuzz -- TARGET --input FILE` repeats one input. A find is shortened, printed, and kept in
 * the corpus; with `--keep` so is what reaches something new.
 */
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { figuresLine, findText, fuzzTarget, keepCorpus, keepFind } from './campaign.ts'
import { corpusFile, listTargets, loadTarget } from './corpus.ts'
import { openTools } from './fuzzer.ts'
import { runTarget } from './target.ts'

/** What is kept of each target, in bytes. */
const maxKept = 12_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(1 + Math.floor(Math.random() * 1e9)) },
    input: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
})
const names = positionals.length === 0 ? listTargets() : positionals
// Refused before anything is installed.
const problem = findProblem()
if (problem !== null) {
  console.error(problem)
  process.exitCode = 2
} else if (values.input === undefined) await fuzzAll(Number(values.seconds), Number(values.seed))
else for (const name of names) await repeat(name, values.input)

/** Returns what is wrong with the words of the command, as a sentence. */
function findProblem(): string | null {
  const unknown = names.filter((name) => !listTargets().includes(name))
  if (unknown.length > 0) return `There is no target ${unknown.join(', ')}. There are: ${listTargets().join(', ')}.`
  for (const flag of ['seconds', 'seed'] as const) {
    if (!/^[1-9]\d*$/.test(values[flag])) return `--${flag} ${values[flag]} is not a whole number from 1.`
  }
  const { input } = values
  return input === undefined || existsSync(input) ? null : `--input ${input} cannot be read: no such file.`
}

async function repeat(name: string, file: string): Promise<void> {
  await runTarget(await loadTarget(name), readFileSync(file))
  console.log(`${name}: no find`)
}

async function fuzzAll(seconds: number, seed: number): Promise<void> {
  const tools = await openTools(tmpdir())
  const lanes = Math.min(availableParallelism(), names.length)
  const each = Math.max(1, Math.round((seconds * lanes) / names.length))
  const waiting = [...names]
  const lines: string[] = []
  const lane = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const result = await fuzzTarget(name, { tools, seconds: each, seed })
      if (values.keep) await keepCorpus(name, tools, result.corpus, maxKept)
      if (result.find !== null) {
        keepFind(name, result.find)
        console.log(`${findText(name, result.find)}\n  kept:   ${corpusFile(name)}`)
        process.exitCode = 1
      }
      lines.push(figuresLine(result))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  console.log(`${lines.sort().join('\n')}\nseed ${seed}`)
}
