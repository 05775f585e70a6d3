/**
 * The suites of `svc qa` are worth what they notice: each mutation breaks the emulator in one way, and a run must fail.
 * What escapes is documented in docs/qa.md, and a mutation that is caught must not stand there.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunResult } from '../../src/qa/result.ts'
import { ensureBuilt, root } from '../cli/process.ts'
import type { Mutation } from './mutation.ts'
import { mutations } from './mutations.ts'
import { casesFor, closeBrowser, runCases, type Sandbox, withoutBrowser } from './suites.ts'

/** How many mutations there must be at least, and how many the suites must notice. */
const least = 60
const noticed = 55

interface Broken extends Sandbox {
  end(): Promise<void>
}

const folder = mkdtempSync(join(tmpdir(), 'svc-mutations-'))

beforeAll(() => ensureBuilt())
afterAll(async () => {
  await closeBrowser()
  rmSync(folder, { recursive: true, force: true })
})

describe('mutations of the emulator', () => {
  test(`at least ${least} are tried, each under a name of its own`, () => {
    expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length)
    expect(mutations.length).toBeGreaterThanOrEqual(least)
  })

  test('without a mutation the suites find nothing', async () => {
    await using broken = disposable(await startBroken('none'))
    const result = await runCases(withoutBrowser, broken, { bail: false })
    expect(failures(result)).toEqual([])
    expect(result.cases.filter(({ outcome }) => outcome === 'passed').length).toBeGreaterThan(250)
  })

  test('the suites notice them, but for those that docs/qa.md names', { timeout: 400_000 }, async () => {
    const escaped: string[] = []
    const waiting = [...mutations]
    const next = async (): Promise<void> => {
      const mutation = waiting.shift()
      if (mutation === undefined) return
      if (!(await isNoticed(mutation))) escaped.push(mutation.name)
      return next()
    }
    await Promise.all([next(), next()])
    expect(escaped.toSorted()).toEqual(documentedEscapes())
    expect(mutations.length - escaped.length).toBeGreaterThanOrEqual(noticed)
  })
})

async function isNoticed(mutation: Mutation): Promise<boolean> {
  await using broken = disposable(await startBroken(mutation.name))
  for (const cases of casesFor(mutation)) {
    const failed = failures(await runCases(cases, broken, { bail: true }))
    if (failed.length > 0) return true
  }
  return false
}

/** Ids of the cases that failed. */
function failures({ cases }: RunResult): string[] {
  return cases.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
}

async function startBroken(name: string): Promise<Broken> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'broken.ts'), name, join(folder, name)], {
    cwd: root,
    // Each starts from the same sources, but for one file.
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // A broken emulator complains as it goes; that matters only when it does not start.
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = `${complaints}${text}`.slice(-4_000)
  })
  const line = await firstLine(child)
  if (line === null) throw new Error(`the emulator with mutation ${name} did not start: ${complaints}`)
  return {
    ...(JSON.parse(line) as Sandbox),
    async end() {
      child.stdin.end()
      await once(child, 'close')
    },
  }
}

async function firstLine(child: ChildProcess): Promise<string | null> {
  for await (const line of createInterface(child.stdout!)) return line
  return null
}

/** The names in the table of docs/qa.md. */
function documentedEscapes(): string[] {
  const text = readFileSync(join(root, 'docs/qa.md'), 'utf8')
  const section = /## What the suites do not notice\n([\s\S]*?)(\n## |$)/.exec(text)?.[1] ?? ''
  return [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!).toSorted()
}

function disposable<T extends { end(): Promise<void> }>(value: T): T & AsyncDisposable {
  return { ...value, [Symbol.asyncDispose]: () => value.end() }
}
