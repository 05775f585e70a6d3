/**
 * The inputs of each target that are kept: one file of JSON lines for each, a line for each input. A text is a string, other bytes are
 * `{"base64": ...}`. What once was a find says so: `{"found": ..., "text": ...}`.
 */
import { isUtf8 } from 'node:buffer'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, type Json, parseJson } from '#foundation/json.ts'
import type { FuzzTarget } from './target.ts'

const folder = join(import.meta.dirname, 'corpus')
const targets = join(import.meta.dirname, 'targets')

export interface CorpusInput {
  bytes: Buffer
  /** What it did when it was found; null for an input that only reaches something that others do not. */
  found: string | null
}

/** Returns the names of all targets. */
export function listTargets(): string[] {
  return readdirSync(targets).map((file) => file.replace(/\.ts$/, ''))
}

/** Returns a target by its name. @throws Error that lists them */
export async function loadTarget(name: string): Promise<FuzzTarget> {
  if (!listTargets().includes(name))
    throw new Error(`There is no target ${name}. There are: ${listTargets().join(', ')}.`)
  const { target } = (await import(targetFile(name))) as { target: FuzzTarget }
  return target
}

export function targetFile(name: string): string {
  return join(targets, `${name}.ts`)
}

export function corpusFile(name: string): string {
  return join(folder, `${name}.jsonl`)
}

/** Returns the inputs of a target that are kept. */
export function readCorpus(name: string): CorpusInput[] {
  if (!existsSync(corpusFile(name))) return []
  const lines = readFileSync(corpusFile(name), 'utf8').split('\n').slice(0, -1)
  return lines.map((line, index) => {
    const value = parseJson(line)
    const bytes = value === undefined ? null : toBytes(value)
    if (bytes === null) throw new Error(`${corpusFile(name)}, line ${index + 1} is no input.`)
    return { bytes, found: isObject(value) && typeof value.found === 'string' ? value.found : null }
  })
}

function toBytes(value: Json): Buffer | null {
  if (typeof value === 'string') return Buffer.from(value)
  if (!isObject(value)) return null
  if (typeof value.text === 'string') return Buffer.from(value.text)
  return typeof value.base64 === 'string' ? Buffer.from(value.base64, 'base64') : null
}

/** Writes the inputs of a target: finds first, then the shortest; each once. */
export function writeCorpus(name: string, inputs: readonly CorpusInput[]): void {
  const each = new Map<string, CorpusInput>()
  for (const input of inputs) {
    const key = input.bytes.toString('base64')
    if (each.get(key)?.found == null) each.set(key, input)
  }
  const ordered = [...each.values()].sort(
    (one, other) => Number(one.found === null) - Number(other.found === null) || one.bytes.length - other.bytes.length,
  )
  writeFileSync(corpusFile(name), ordered.map((input) => `${toLine(input)}\n`).join(''))
}

function toLine({ bytes, found }: CorpusInput): string {
  const isText = isUtf8(bytes)
  if (found === null && isText) return readable(bytes.toString('utf8'))
  return readable({
    ...(found === null ? {} : { found }),
    ...(isText ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') }),
  })
}

/** Escapes what an editor would not show, or would show as another text. */
function readable(value: unknown): string {
  return JSON.stringify(value).replace(/[^\x20-\x7e]/gu, (found) =>
    [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
}
