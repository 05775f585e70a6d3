/**
 * `describe`, `test` and `test.each` as the tests of rules use them, in place of vitest's: they collect, so that one
 * process runs the same tests for each of thousands of mutants. `expect` is vitest's own.
 */
export { expect } from 'vitest'

export interface CollectedTest {
  /** Its file, the names around it and its position in the file. */
  id: string
  file: string
  run: () => unknown
}

let collected: CollectedTest[] = []
let file = ''
let names: readonly string[] = []

/** Imports a test file, and returns its tests. `address`: its URL; `shown`: its name in reports. */
export async function collectTests(address: string, shown: string): Promise<CollectedTest[]> {
  collected = []
  file = shown
  names = []
  await import(address)
  return collected
}

export function describe(name: string, body: () => void): void {
  const around = names
  names = [...around, name]
  body()
  names = around
}

export function test(name: string, run: () => unknown): void {
  collected.push({ id: [file, ...names, `${name} (${collected.length + 1})`].join(' > '), file, run })
}

export const it = test

/** A row of a table is the list of arguments, any other case the only one. */
test.each = (cases: readonly unknown[]) => (name: string, run: (...values: unknown[]) => unknown) => {
  for (const values of cases) test(name, () => (Array.isArray(values) ? run(...values) : run(values)))
}

describe.each = (cases: readonly unknown[]) => (name: string, body: (...values: unknown[]) => void) => {
  for (const values of cases) describe(name, () => (Array.isArray(values) ? body(...values) : body(values)))
}
