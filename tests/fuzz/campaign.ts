/** Runs of the fuzzer over several targets: what they find is shortened and kept. */
import { isUtf8 } from 'node:buffer'
import { type CorpusInput, loadTarget, readCorpus, targetFile, writeCorpus } from './corpus.ts'
import { type FuzzRun, type FuzzTools, fuzz, minimize } from './fuzzer.ts'
import { reduceInput } from './reduce.ts'
import { type FuzzTarget, runTarget } from './target.ts'

export interface Find {
  bytes: Buffer
  /** What it does, in one line. */
  report: string
}

export interface TargetResult extends Omit<FuzzRun, 'find'> {
  name: string
  find: Find | null
  seconds: number
}

/** Runs one target from its corpus. A find is shortened; nothing is written. */
export async function fuzzTarget(
  name: string,
  { tools, seconds, seed }: { tools: FuzzTools; seconds: number; seed: number },
): Promise<TargetResult> {
  const target = await loadTarget(name)
  const started = performance.now()
  const corpus = readCorpus(name).map(({ bytes }) => bytes)
  const run = await fuzz(targetFile(name), target, { tools, seconds, seed, corpus })
  const took = (performance.now() - started) / 1_000
  return { ...run, name, seconds: took, find: run.find === null ? null : await shorten(target, run.find) }
}

/** Adds a find to the corpus of its target, which then fails in `npm test` until the find is mended. */
export function keepFind(name: string, { bytes, report }: Find): void {
  writeCorpus(name, [...readCorpus(name), { bytes, found: report }])
}

/** Replaces the corpus of a target by its finds and the fewest inputs that reach what `inputs` reach, up to `limit` bytes. */
export async function keepCorpus(
  name: string,
  tools: FuzzTools,
  inputs: readonly Buffer[],
  limit: number,
): Promise<void> {
  const fewest = await minimize(targetFile(name), await loadTarget(name), tools, inputs)
  const kept: CorpusInput[] = readCorpus(name).filter(({ found }) => found !== null)
  let size = kept.reduce((sum, { bytes }) => sum + bytes.length, 0)
  for (const bytes of fewest.sort((one, other) => one.length - other.length)) {
    if (size + bytes.length > limit) break
    size += bytes.length
    kept.push({ bytes, found: null })
  }
  writeCorpus(name, kept)
}

/** Without the fuzzer an input that hangs cannot be ended, and one that takes all memory ends this process. */
async function shorten(target: FuzzTarget, find: Find): Promise<Find> {
  const message = await failure(target, find.bytes, find.report)
  if (message === null) return find
  const bytes = await reduceInput(
    find.bytes,
    async (shorter) => (await failure(target, shorter, find.report)) === message,
  )
  const report = (await readReport(target, bytes)) ?? find.report
  return { bytes, report }
}

/** Returns what makes two finds the same: the kind of the error, and where it is thrown. */
async function failure(target: FuzzTarget, bytes: Buffer, report: string): Promise<string | null> {
  if (/^takes more/.test(report)) return null
  try {
    await runTarget(target, bytes)
    return null
  } catch (error) {
    if (!(error instanceof Error)) return String(error)
    const place = /^\s+at .*$/m.exec(error.stack?.slice(`${error.name}: ${error.message}`.length) ?? '')?.[0] ?? ''
    return `${error.name} ${error.name === 'Finding' ? error.message.slice(0, 20) : ''}${place}`
  }
}

async function readReport(target: FuzzTarget, bytes: Buffer): Promise<string | null> {
  try {
    await runTarget(target, bytes)
    return null
  } catch (error) {
    return String(error).replaceAll(/\s+/g, ' ').slice(0, 200)
  }
}

/** Returns the figures of a target in one line. */
export function figuresLine({ name, executions, edges, corpus, find, seconds }: TargetResult): string {
  const speed = Math.round(executions / seconds)
  return `${name.padEnd(16)} ${String(executions).padStart(9)} executions (${speed}/s), ${edges} edges, corpus ${corpus.length}, ${find === null ? 'no find' : '1 find'}`
}

/** Returns what is printed of a find: the input, and how to repeat it. */
export function findText(name: string, { bytes, report }: Find): string {
  const shown = isUtf8(bytes) ? JSON.stringify(bytes.toString('utf8')) : `hex ${bytes.toString('hex')}`
  return [
    `${name}: ${report}`,
    `  input:  ${shown.length > 1_000 ? `${shown.slice(0, 1_000)}...` : shown}`,
    `  base64: ${bytes.toString('base64')}`,
    `  repeat: npm run fuzz -- ${name} --input FILE, with these bytes, or npx vitest run tests/fuzz/corpus.test.ts -t ${name}`,
  ].join('\n')
}
