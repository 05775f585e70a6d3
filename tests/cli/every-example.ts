/** Every example of every command, run in this process until it ends; endless ones until an interrupt. */
import { type Command, loadAll } from '#cli/run/command.ts'
import type { Signal } from '#cli/run/system.ts'
import { commands } from '#src/program.ts'
import { type Result, type RunOptions, svc } from './test-cli.ts'

export interface Example {
  /** `placements create` */
  path: string
  command: Command
  words: string
}

/** Examples that start other processes, which write by themselves, or a run of every suite. Each of them must exist. */
const elsewhere: Readonly<Record<string, string>> = {
  'start --detach --open': 'start --port 0 --ephemeral --scenario none',
  'exec -- npm test': 'exec -- true',
  'exec --seed 1 -q -- node --test': 'exec --seed 1 -q -- true',
  'qa run --fresh': 'qa run errors',
  'qa run formats --fresh --reporter list --reporter html=qa.html':
    'qa run formats --reporter list --reporter html=qa.html',
  // tests/cli/gameday.test.ts and tests/pages/gameday.test.ts play them.
  'sandbox gameday gameday.yaml --html gameday.html -o json': 'sandbox gameday gameday.yaml --dry-run -o json',
  'sandbox gameday gameday.yaml --url http://localhost:3000': 'sandbox gameday --schema',
  'sandbox gameday gameday.yaml -- node app.js': 'sandbox gameday --schema -o json',
  'observe -- npm test': 'observe -- true',
  'observe --url http://localhost:3000 --for 30s': 'observe',
  'observe --url http://localhost:3000 --steps ask.yaml -- npm start': 'observe --since 10m -o json',
  // tests/pages/qa-hosts.test.ts runs it in a browser.
  'qa hosts': 'qa hosts --list -o json',
  'qa hosts --url http://localhost:3000 --only strict-csp --only isolated': 'qa hosts --list --only strict-csp',
}

/** Examples that need a shared store: tests/postgres has one. */
export const ofSharedStore = /--store postgres:|^team (namespaces delete|migrate)/

/**
 * Returns an example about the grant that a page has just asked a sandbox for, as its console does, or about a bundle that was
 * just imported there; others as they are.
 */
export async function aboutNewThing(example: string, url: string): Promise<string> {
  if (example.includes('grant_')) return example.replace(/grant_\w+/, await askForGrant(url))
  return example.includes('bun_') ? example.replace(/bun_\w+/, await importNewBundle(url)) : example
}

async function askForGrant(url: string): Promise<string> {
  const headers = { 'content-type': 'application/json', origin: 'http://localhost:3000' }
  const response = await fetch(`${url}/_sandbox/console/page/ask`, { method: 'POST', headers, body: '{}' })
  return ((await response.json()) as { grant_id: string }).grant_id
}

async function importNewBundle(url: string): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer sk_test_sandbox_demo' }
  const request = JSON.stringify({ client_id: 'proj_demo', session_id: 'to-bundle', job_type: 'chat' })
  await fetch(`${url}/v1/placements`, { method: 'POST', headers, body: request })
  const text = await (await fetch(`${url}/_sandbox/bundle.html`)).text()
  const body = JSON.stringify({ text })
  const response = await fetch(`${url}/_sandbox/bundles`, { method: 'POST', headers, body })
  return ((await response.json()) as { bundle_id: string }).bundle_id
}

const followers = new Set(['start', 'events', 'tail', 'logs', 'observe', 'listen', 'record'])

/** Whether a command does not end by itself, is another program's own, or ends the sandbox of the others. */
export function goesOn({ name }: Command, path: string): boolean {
  return followers.has(name) || name === 'exec' || path === 'sandbox stop'
}

/** The examples of commands that go on until they are interrupted. */
const endless = /^(start|record|sandbox (events|callbacks listen)|beacons tail|observe( -o \w+)?$)/

export async function everyExample(): Promise<Example[]> {
  const all = (await loadAll(commands)).flatMap(({ command, path }) =>
    command.examples.map((words) => ({ path, command, words })),
  )
  const gone = Object.keys(elsewhere).filter((replaced) => !all.some(({ words }) => words === replaced))
  if (gone.length > 0) throw new Error(`no command has the example ${gone.join(', ')}`)
  return all.map((example) => ({ ...example, words: elsewhere[example.words] ?? example.words }))
}

/**
 * Takes examples in two lanes side by side, each in the given order: those that go on until an interrupt, which mostly wait
 * for it and change nothing, and all others.
 */
export async function inLanes<One extends { words: string }>(
  examples: readonly One[],
  open: () => Promise<{ take(example: One): Promise<void> } & AsyncDisposable>,
): Promise<void> {
  const work = async (isEndless: boolean) => {
    await using lane = await open()
    for (const example of examples) if (endless.test(example.words) === isEndless) await lane.take(example)
  }
  await Promise.all([work(true), work(false)])
}

/** Runs a command line, and interrupts it when it goes on: some time after it listens for that, however long it takes to load. */
export async function runExample(words: string, options: RunOptions): Promise<Result> {
  if (!endless.test(words)) return svc(words, { ...options, system: { ...stoppable(), ...options.system } })
  let timer: NodeJS.Timeout | undefined
  const system = {
    ...options.system,
    onSignal: (handler: (signal: Signal) => void) => {
      timer = setTimeout(() => handler('SIGINT'), /^start/.test(words) ? 1_500 : 400)
      return () => clearTimeout(timer)
    },
  }
  try {
    return await svc(words, { ...options, system })
  } finally {
    clearTimeout(timer)
  }
}

/** A process that ends when it is asked to, as a sandbox does. */
function stoppable() {
  let isStopped = false
  return {
    isRunning: (pid: number) => pid === process.pid && !isStopped,
    terminate: () => {
      isStopped = true
      return true
    },
  }
}
