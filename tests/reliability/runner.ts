/**
 * A sandbox in a process of its own, for tests that kill it, starve it or measure it. Options come as JSON in the first
 * argument; what happens goes to the parent as messages. The test beside it is the parent: see child.ts.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Sandbox, SandboxError, SandboxOptions } from '#sandbox/index.ts'
import { type Pauses, watchPauses } from '#tests/pauses/watch.ts'

export type Message =
  | { kind: 'ready'; url: string; pid: number; warnings: string[] }
  | { kind: 'failed'; code: string; message: string; hint: string }
  | { kind: 'report'; text: string }
  | { kind: 'memory'; rss_bytes: number; heap_bytes: number }
  | ({ kind: 'pauses' } & Pauses)

/** A file that grows over its limit raises this signal; with a listener the write fails instead. */
process.on('SIGXFSZ', () => {})

const tell = (message: Message) => process.send?.(message)
/** The built one starts in a quarter of the time that its sources take. */
const built = new URL('../../dist/sandbox.js', import.meta.url).href
const { startSandbox }: typeof import('#sandbox/index.ts') = await import(built)
const options = JSON.parse(process.argv[2]!) as SandboxOptions

const takePauses = watchPauses()
try {
  const sandbox = await startSandbox({ ...options, report: (error) => tell({ kind: 'report', text: describe(error) }) })
  process.on('message', (message) => {
    if (message === 'memory') tell({ kind: 'memory', ...memory() })
    if (message === 'collect') {
      collectGarbage()
      takePauses()
      tell({ kind: 'memory', ...memory() })
    }
    if (message === 'pauses') tell({ kind: 'pauses', ...takePauses() })
    if (message === 'close') void close(sandbox)
  })
  process.on('disconnect', () => process.exit())
  tell({ kind: 'ready', url: sandbox.url, pid: process.pid, warnings: sandbox.warnings })
} catch (error) {
  const { code, message, hint } = error as SandboxError
  tell({ kind: 'failed', code, message, hint })
  process.disconnect?.()
}

async function close(sandbox: Sandbox): Promise<void> {
  try {
    await sandbox.close()
    process.channel?.unref()
  } catch (error) {
    tell({ kind: 'report', text: describe(error) })
    process.exitCode = 2
    process.disconnect?.()
  }
}

function memory() {
  const { rss: rss_bytes, heapUsed: heap_bytes } = process.memoryUsage()
  return { rss_bytes, heap_bytes }
}

/** Any other collection keeps free pages for later objects: tens of megabytes more or fewer each time. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? ` <- ${error.cause.stack}` : ''
  return `${error.stack}${cause}`
}
