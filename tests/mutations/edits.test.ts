/**
 * Each edit breaks the product in one way, and the checks that it names must notice: the suites of `svc qa`, the rules of the
 * store, histories on virtual time and histories of nodes. What escapes the suites is in docs/qa.md, and nothing else is.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { root } from '#tests/cli/process.ts'
import { share } from '#tests/share.ts'
import { faultKinds } from '#tests/shared-histories/faults.ts'
import { type Check, type Checker, checks, isDue } from './checks.ts'
import { type CheckName, edits, listEdits } from './edits.ts'
import { sharedRules, storeRules } from './store/rules.ts'
import { all as allCases } from './suites.ts'

const escapes = documentedEscapes()

/** How many there must be at least that a check is asked about. */
const least: Record<CheckName, number> = {
  ...{ suites: 88, renderer: 10, store: 22, postgres: 20, simulation: 10, shared: 5, disk: 4 },
}

describe('the list', () => {
  test('has a name for each edit, and enough for each check', () => {
    expect(new Set(edits.map(({ name }) => name)).size).toBe(edits.length)
    const counts = Object.keys(least).map((name) => [name, listEdits(name as CheckName).length] as const)
    expect(counts.filter(([name, count]) => count < least[name as CheckName])).toEqual([])
  })

  test('names cases, rules and faults that there are', () => {
    const isCase = (text: string) =>
      text.split(' | ').every((prefix) => allCases.some(({ id }) => id.startsWith(prefix)))
    const isKnown: Partial<Record<CheckName, (text: string) => boolean>> = {
      suites: isCase,
      renderer: isCase,
      store: (text) => text in storeRules,
      postgres: (text) => text in storeRules || text in sharedRules,
      shared: (text) => text.split(', ').every((kind) => faultKinds.some(({ name }) => name === kind)),
    }
    const unknown = edits.flatMap(({ name, checks: asked }) =>
      Object.entries(asked).filter(([check, text]) => isKnown[check as CheckName]?.(text) === false && name),
    )
    expect(unknown).toEqual([])
  })

  test('has what docs/qa.md says that the suites do not notice', () => {
    expect(escapes.filter((name) => !listEdits('suites', 'renderer').some((edit) => edit.name === name))).toEqual([])
  })
})

/** A guard against hanging: a test waits for a checker that is free. */
const timeout = 3_600_000

for (const [name, check] of Object.entries(checks) as [keyof typeof checks, Check][]) {
  describe(name, () => {
    const pool = createPool(check)
    afterAll(pool.close)

    const all = listEdits(name).filter((edit) => isDue(name, edit))
    // No share of a short list is empty.
    const due = all.length < share.of ? all : all.filter((_, index) => share.has(index))
    test.concurrent.for(due)('$name: $wrong', { timeout }, async (edit, context) => {
      const found = await pool.check(edit)
      const escaped = (name === 'suites' || name === 'renderer') && escapes.includes(edit.name)
      context.expect(found.length > 0, found.join('\n')).toBe(!escaped)
    })

    // Histories of the product as it is are those of test:simulation and test:shared.
    if (name !== 'simulation' && name !== 'shared')
      test('what noticed an edit finds nothing without one', { timeout }, async () =>
        expect(await pool.check(null)).toEqual([]),
      )
  })
}

/** Asks checkers that are free; they are opened as they are needed. */
function createPool({ checkers, open }: Check) {
  const opened: Promise<Checker>[] = []
  const free: Promise<Checker>[] = []
  const waiting: ((checker: Promise<Checker>) => void)[] = []
  const take = () => {
    const found = free.pop()
    if (found !== undefined) return found
    if (opened.length === checkers) return new Promise<Checker>((resolve) => waiting.push(resolve))
    const checker = open()
    opened.push(checker)
    return checker
  }
  return {
    async check(...args: Parameters<Checker['check']>) {
      const checker = take()
      try {
        return await (await checker).check(...args)
      } finally {
        const next = waiting.shift()
        if (next === undefined) free.push(checker)
        else next(checker)
      }
    },
    async close() {
      for (const checker of opened) await (await checker)[Symbol.asyncDispose]()
    },
  }
}

/** The names in the table of docs/qa.md. */
function documentedEscapes(): string[] {
  const text = readFileSync(join(root, 'docs/qa.md'), 'utf8')
  const section = /## What the suites do not notice\n([\s\S]*?)(\n## |$)/.exec(text)?.[1] ?? ''
  return [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!).toSorted()
}
