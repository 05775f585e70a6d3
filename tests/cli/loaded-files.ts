/** The files of dist that a command line loads, by the coverage of its process. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { spawnSvc } from './process.ts'

/** What may be loaded at most, without the contract and the schemas: for help and usage errors, and to call a sandbox. */
export const mostBytes = { help: 380_000, call: 590_000 }

export interface LoadedScript {
  url: string
  functions: { functionName: string; ranges: { count: number }[] }[]
}

/** Returns the files of dist that a command line loads. */
export async function loadedFiles(args: readonly string[], home?: string): Promise<string[]> {
  return (await loadedScripts(args, home)).map(({ url }) => fileURLToPath(url))
}

/** Returns the files of dist that a command line loads, with the functions that it calls. */
export async function loadedScripts(args: readonly string[], home?: string): Promise<LoadedScript[]> {
  const directory = temporaryDirectory()
  const { code } = await spawnSvc(args, { NODE_V8_COVERAGE: directory, ...(home && { SVC_HOME: home }) }).ended
  if (home !== undefined) expect(code).toBe(0)
  const reports = readdirSync(directory).map((file) => readFileSync(join(directory, file), 'utf8'))
  const scripts = reports.flatMap((text) => (JSON.parse(text) as { result: LoadedScript[] }).result)
  return scripts.filter(({ url }) => url.startsWith('file:'))
}

export function sumSize(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + statSync(file).size, 0)
}
