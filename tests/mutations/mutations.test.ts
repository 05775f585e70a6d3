/**
 * The suites of `svc qa` are worth what they notice: each mutation breaks the emulator in one way, and a run must fail.
 * What escapes is documented in docs/qa.md, and a mutation that is caught must not stand there.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, test } from 'vitest'
import type { RunResult } from '#qa/result.ts'
import { root } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import type { Mutation } from './mutation.ts'
import { mutations } from './mutations.ts'
import { all, casesFor, closeBrowser, runCases, type Sandbox } from './suites.ts'

/** How many mutations there must be at least, and how many the suites must notice. */
const least = 60
const noticed = 55

const folder = temporaryDirectory()

afterAll(closeBrowser)

describe('mutations of the emulator', () => {
  test(`at least ${least} are tried, each under a name of its own`, () => {
    expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length)
    expect(mutations.length).toBeGreaterThanOrEqual(least)
  })

  test('the case that should notice one exists', () => {
    const isCase = (prefix: string) => all.some(({ id }) => id.startsWith(prefix))
    expect(mutations.filter(({ noticed_by }) => noticed_by !== undefined && !isCase(noticed_by))).toEqual([])
  })

  test('the suites notice them, but for those that docs/qa.md names, by cases that pass without a mutation', async () => {
    const escaped: string[] = []
    const noticing = new Set<string>()
    const waiting = [...mutations]
    const work = async (): Promise<void> => {
      await using mutants = startProcess()
      for (let mutation = waiting.shift(); mutation !== undefined; mutation = waiting.shift()) {
        const failed = await noticedBy(mutation, await mutants.start(mutation.name))
        for (const id of failed) noticing.add(id)
        if (failed.length === 0) escaped.push(mutation.name)
      }
    }
    await Promise.all(Array.from({ length: availableParallelism() }, work))
    expect(escaped.toSorted()).toEqual(documentedEscapes())
    expect(mutations.length - escaped.length).toBeGreaterThanOrEqual(noticed)

    await using mutants = startProcess()
    const cases = all.filter(({ id }) => noticing.has(id))
    const result = await runCases(cases, await mutants.start('none'), { bail: false })
    expect(result.cases.filter(({ outcome }) => outcome !== 'passed')).toEqual([])
    expect(cases.length).toBe(noticing.size)
  })
})

/** Returns the ids of the cases that fail first. */
async function noticedBy(mutation: Mutation, mutant: Sandbox): Promise<string[]> {
  for (const cases of casesFor(mutation)) {
    const failed = failures(await runCases(cases, mutant, { bail: true }))
    if (failed.length > 0) return failed
  }
  return []
}

/** Ids of the cases that failed. */
function failures({ cases }: RunResult): string[] {
  return cases.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
}

interface MutantProcess extends AsyncDisposable {
  /** Starts a mutant by its name. The one before it is closed. */
  start(name: string): Promise<Sandbox>
}

function startProcess(): MutantProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'mutant-process.ts'), folder], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // A broken emulator complains as it goes; that matters only when it does not start.
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = `${complaints}${text}`.slice(-4_000)
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async start(name) {
      child.stdin.write(`${name}\n`)
      const { done, value } = await lines.next()
      if (done) throw new Error(`the emulator with mutation ${name} did not start: ${complaints}`)
      return JSON.parse(value) as Sandbox
    },
    async [Symbol.asyncDispose]() {
      const closed = once(child, 'close')
      child.stdin.end()
      await closed
    },
  }
}

/** The names in the table of docs/qa.md. */
function documentedEscapes(): string[] {
  const text = readFileSync(join(root, 'docs/qa.md'), 'utf8')
  const section = /## What the suites do not notice\n([\s\S]*?)(\n## |$)/.exec(text)?.[1] ?? ''
  return [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!).toSorted()
}
