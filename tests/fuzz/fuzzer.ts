/** One run of the coverage-guided fuzzer on one target, in a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { installTools } from '../interop/tools.ts'
import { bundleTarget, root } from './bundle.ts'
import { loadableOnOlderLibc } from './older-libc.ts'
import type { FuzzTarget } from './target.ts'

/** The tools, installed, and the variables with which they run. */
export interface FuzzTools {
  folder: string
  env: Record<string, string>
}

/** Resolves to the tools of tools.json, installed below `folder`. @throws Error that says what is missing */
export async function openTools(folder: string): Promise<FuzzTools> {
  const installed = await installTools(folder, {}, join(import.meta.dirname, 'tools.json'), 'fuzz')
  return { folder: installed, env: loadableOnOlderLibc(installed) }
}

export interface FuzzRun {
  executions: number
  /** Edges of the code that were reached. */
  edges: number
  /** The inputs that the run ended with, each of which reaches something of its own. */
  corpus: Buffer[]
  /** The input that failed, and what the fuzzer said about it. */
  find: { bytes: Buffer; report: string } | null
}

/** Resolves to the fewest inputs that reach all edges which the given ones reach. */
export async function minimize(file: string, target: FuzzTarget, tools: FuzzTools, inputs: readonly Buffer[]) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'))
  try {
    const [from, to] = ['from', 'to'].map((name) => join(folder, name)) as [string, string]
    for (const each of [from, to]) mkdirSync(each)
    writeInputs(from, inputs)
    const flags = ['-merge=1', '-use_counters=0', to, from]
    const { code, lines } = await runFuzzer(await bundleTarget(file, folder), target, folder, { tools, flags })
    if (code !== 0) throw new Error(`the fuzzer ended with ${code}:\n${lines.slice(-30).join('\n')}`)
    return readInputs(to)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface FuzzOptions {
  tools: FuzzTools
  seconds: number
  seed: number
  corpus: readonly Buffer[]
}

/** Longer than this, an input hangs, in seconds. */
const timeout_s = 10
/** The memory of a process with the fuzzer is 200 to 500 MB. */
const memory_mb = 1_500

/** Runs the target of a file. @throws Error when the fuzzer itself fails */
export async function fuzz(file: string, target: FuzzTarget, options: FuzzOptions): Promise<FuzzRun> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'))
  try {
    const corpus = join(folder, 'corpus')
    const artifacts = join(folder, 'artifacts')
    for (const each of [corpus, artifacts]) mkdirSync(each)
    writeInputs(corpus, options.corpus)
    const words = join(folder, 'words')
    writeFileSync(words, dictionary(target.words ?? []))
    const flags = [
      ...[corpus, `-max_total_time=${options.seconds}`, `-seed=${options.seed}`, `-max_len=${target.max_bytes}`],
      ...[`-dict=${words}`, `-artifact_prefix=${artifacts}/`, `-timeout=${timeout_s}`, `-rss_limit_mb=${memory_mb}`],
      ...['-print_final_stats=1', '-use_value_profile=1', '-reload=0', '-len_control=20'],
    ]
    const bundle = await bundleTarget(file, folder)
    const { code, lines } = await runFuzzer(bundle, target, folder, { tools: options.tools, flags })
    const [artifact] = readdirSync(artifacts)
    if (code !== 0 && artifact === undefined)
      throw new Error(`the fuzzer ended with ${code}:\n${lines.slice(-30).join('\n')}`)
    return {
      ...figures(lines),
      corpus: readInputs(corpus),
      find:
        artifact === undefined
          ? null
          : { bytes: readFileSync(join(artifacts, artifact)), report: describeFind(artifact, lines) },
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Words as the fuzzer reads them. */
function dictionary(words: readonly string[]): string {
  const escaped = (word: string) =>
    [...Buffer.from(word)]
      .map((byte) =>
        byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c
          ? String.fromCharCode(byte)
          : `\\x${byte.toString(16).padStart(2, '0')}`,
      )
      .join('')
  return words.map((word) => `"${escaped(word)}"\n`).join('')
}

function writeInputs(folder: string, inputs: readonly Buffer[]): void {
  for (const [index, bytes] of inputs.entries()) writeFileSync(join(folder, String(index)), bytes)
}

function readInputs(folder: string): Buffer[] {
  return readdirSync(folder).map((file) => readFileSync(join(folder, file)))
}

function runFuzzer(
  bundle: string,
  { run }: FuzzTarget,
  folder: string,
  { tools, flags }: { tools: FuzzTools; flags: readonly string[] },
) {
  const cli = join(tools.folder, 'node_modules/@jazzer.js/core/dist/cli.js')
  // What is not a promise is run several times as fast.
  const isAsync = run.constructor.name === 'AsyncFunction'
  const args = [cli, bundle, ...(isAsync ? [] : ['--sync']), '--timeout', String(timeout_s * 1_000), '--', ...flags]
  return runNode(args, folder, tools.env)
}

async function runNode(args: string[], cwd: string, env: Record<string, string>) {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env, NODE_PATH: join(root, 'node_modules'), NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'close')
  const lines: string[] = []
  for await (const line of createInterface(child.stderr)) {
    lines.push(line)
    if (lines.length > 2_000) lines.splice(100, 1_000)
  }
  const [code] = (await ended) as [number | null]
  return { code, lines }
}

function figures(lines: readonly string[]): Pick<FuzzRun, 'executions' | 'edges'> {
  const last = (pattern: RegExp) => Number(lines.findLast((line) => pattern.test(line))?.match(pattern)?.[1] ?? 0)
  return {
    executions: last(/^stat::number_of_executed_units:\s+(\d+)/) || last(/^#(\d+)\t/),
    edges: last(/^#\d+\t.* cov: (\d+) /),
  }
}

/** Returns what went wrong, in one line. */
function describeFind(artifact: string, lines: readonly string[]): string {
  if (artifact.startsWith('timeout')) return `takes more than ${timeout_s} s`
  if (artifact.startsWith('oom')) return `takes more than ${memory_mb} MB`
  const line = lines.find((each) => /Uncaught Exception|ERROR: libFuzzer|==\d+== /.test(each)) ?? 'ended the process'
  return line.replace(/^==\d+== (?:Uncaught Exception: )?/, '')
}
