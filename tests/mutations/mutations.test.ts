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
import chromium from '@sparticuz/chromium'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunResult } from '../../src/qa/result.ts'
import { ensureBuilt, root, spawnSvc } from '../cli/process.ts'
import type { Mutation } from './mutation.ts'
import { mutations } from './mutations.ts'

/** How many mutations there must be at least, and how many the suites must notice. */
const least = 40
const noticed = 38

interface Broken {
  url: string
  secret_key: string
  publishable_key: string
  end(): Promise<void>
}

const folder = mkdtempSync(join(tmpdir(), 'svc-mutations-'))
let browser_path: string

beforeAll(async () => {
  ensureBuilt()
  browser_path = await chromium.executablePath()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('mutations of the emulator', () => {
  test(`at least ${least} are tried, each under a name of its own`, () => {
    expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length)
    expect(mutations.length).toBeGreaterThanOrEqual(least)
  })

  test('without a mutation the suites find nothing', async () => {
    await using broken = disposable(await startBroken('none'))
    const result = await runSuites(broken, [])
    expect(failures(result)).toEqual([])
    expect(result.cases.filter(({ outcome }) => outcome === 'passed').length).toBeGreaterThan(150)
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
  const isOfRenderer = mutation.about === 'renderer'
  const more = isOfRenderer ? ['renderer', '--browser-path', browser_path] : []
  return failures(await runSuites(broken, [...more, '--bail'])).length > 0
}

/** Ids of the cases that failed. */
function failures({ cases }: RunResult): string[] {
  return cases.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
}

async function runSuites({ url, secret_key, publishable_key }: Broken, more: readonly string[]): Promise<RunResult> {
  const { code, stdout, stderr } = await spawnSvc(['qa', 'run', ...more, '--seed', '1', '-o', 'json'], {
    SVC_HOME: folder,
    SVC_BASE_URL: url,
    SVC_CLIENT_ID: 'proj_demo',
    SVC_SECRET_KEY: secret_key,
    SVC_PUBLISHABLE_KEY: publishable_key,
  }).ended
  expect([0, 5], stderr).toContain(code)
  return JSON.parse(stdout) as RunResult
}

async function startBroken(name: string): Promise<Broken> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'broken.ts'), name, join(folder, name)], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const { url, keys } = JSON.parse(await firstLine(child, name)) as {
    url: string
    keys: Record<'secret_key' | 'publishable_key', string>
  }
  return {
    url,
    ...keys,
    async end() {
      child.stdin.end()
      await once(child, 'close')
    },
  }
}

async function firstLine(child: ChildProcess, name: string): Promise<string> {
  for await (const line of createInterface(child.stdout!)) return line
  throw new Error(`the emulator with mutation ${name} did not start`)
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
