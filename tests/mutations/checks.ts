/** What is asked whether it notices an edit, by name. The check below SQLite is in tests/disk: it needs a compiler. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '#tests/cli/process.ts'
import { startPostgres } from '#tests/postgres/server.ts'
import { suiteSeconds } from '#tests/shared-histories/budget.ts'
import { faultKinds } from '#tests/shared-histories/faults.ts'
import { runHistory } from '#tests/shared-histories/run.ts'
import { simulate } from '#tests/simulation/lanes.ts'
import { tours } from '#tests/simulation/steps/tours.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import type { CheckName, Edit } from './edits.ts'
import { all, casesFor, closeBrowser, runCases, type Sandbox } from './suites.ts'

/** One that holds an emulator or a store: it is asked about one edit after the other. */
export interface Checker extends AsyncDisposable {
  /** Resolves to what it found; empty when it noticed nothing. `null`: the product as it is. */
  check(edit: Edit | null): Promise<string[]>
}

export interface Check {
  /** How many there are at a time. */
  checkers: number
  open(): Promise<Checker>
}

const processors = availableParallelism()
/** Histories from seed 1 that must show an edit, after the tours: always the same ones. */
const seeds = 12
/** Histories of 6 s in which nodes must show an edit. */
const maxSharedHistories = 6
/** What histories of nodes look for each time; long runs look for all. */
const quick: readonly string[] = ['acknowledged_before_flush', 'decided_twice_by_nodes']

export const checks: Readonly<Record<Exclude<CheckName, 'disk'>, Check>> = {
  suites: { checkers: processors, open: openSuites },
  renderer: { checkers: processors, open: openSuites },
  store: { checkers: 1, open: () => openStore('sqlite') },
  postgres: { checkers: 1, open: openPostgres },
  simulation: { checkers: processors, open: openSimulation },
  shared: { checkers: 1, open: openShared },
}

export function isDue(name: CheckName, edit: Edit): boolean {
  return name !== 'shared' || suiteSeconds > 120 || quick.includes(edit.name)
}

/** Cases that an edit has made fail. */
const noticing = new Set<string>()

async function openSuites(): Promise<Checker> {
  // It takes edited scripts.
  const mutants = startProcess<Sandbox>('mutant-process.ts', [temporaryDirectory()])
  return {
    async check(edit) {
      const sandbox = await mutants.ask(edit?.name ?? 'none')
      const groups = edit === null ? [all.filter(({ id }) => noticing.has(id))] : casesFor(edit)
      for (const cases of groups) {
        const result = await runCases(cases, sandbox, { bail: edit !== null })
        const failed = result.cases.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
        for (const id of failed) noticing.add(id)
        if (failed.length > 0) return failed
      }
      return []
    },
    async [Symbol.asyncDispose]() {
      await mutants.end()
      await closeBrowser()
    },
  }
}

async function openStore(adapter: 'sqlite' | 'postgres', url = '', stop = async () => {}): Promise<Checker> {
  const store = startProcess<Record<string, string>>('store/process.ts', [adapter, url])
  return {
    async check(edit) {
      const broken = await store.ask(edit?.name ?? 'none')
      return Object.entries(broken).map(([rule, reason]) => `${rule}: ${reason}`)
    },
    async [Symbol.asyncDispose]() {
      await store.end()
      await stop()
    },
  }
}

async function openPostgres(): Promise<Checker> {
  const server = await startPostgres()
  return openStore('postgres', server.url, () => server.stop())
}

async function openSimulation(): Promise<Checker> {
  return {
    async check(edit) {
      const { texts } = await simulate({
        ...{ seed: 1, tour: 0, histories: tours.length + seeds, lanes: 1 },
        ...{ mutation: edit?.name ?? null, isReduced: false },
      })
      return texts
    },
    async [Symbol.asyncDispose]() {},
  }
}

async function openShared(): Promise<Checker> {
  const server = await startPostgres({ isDurable: true })
  return {
    async check(edit) {
      const under = edit?.checks.shared?.split(', ') ?? []
      for (let seed = 1; seed <= maxSharedHistories; seed++) {
        const { problems } = await runHistory({
          ...{ seed, store: server.url, database: server, duration_ms: 6_000, pause_ms: 3_000, quiet_ms: 1_000 },
          faults: faultKinds.filter(({ name }) => under.includes(name)),
          ...{ env: { SVC_EDIT: edit?.name ?? '' }, instead: join(root, 'tests/shared-histories/mutant-node.ts') },
        })
        if (problems.length > 0) return problems.map(({ text }) => text)
      }
      return []
    },
    [Symbol.asyncDispose]: () => server.stop(),
  }
}

/** A process that takes a name a line, and responds to each with a line of JSON. */
function startProcess<Response>(script: string, args: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // A broken product complains as it goes; that matters only when it does not start.
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = `${complaints}${text}`.slice(-4_000)
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async ask(name: string): Promise<Response> {
      child.stdin.write(`${name}\n`)
      const { done, value } = await lines.next()
      if (done) throw new Error(`${script} ended at the edit ${name}: ${complaints}`)
      return JSON.parse(value) as Response
    },
    async end(): Promise<void> {
      const closed = once(child, 'close')
      child.stdin.end()
      await closed
    },
  }
}
