/**
 * A sandbox in a process of its own, started by recorded-process.ts under the shim: the built one, or its sources with a
 * fault put in on purpose.
 */
import type { Sandbox, SandboxError, SandboxOptions } from '#sandbox/index.ts'
import { findEdit } from '#tests/mutations/edits.ts'
import { importMutant } from '#tests/mutations/mutant-modules.ts'

export interface ProcessOptions {
  options: SandboxOptions
  /** The name of an edit; null for the product as it is. */
  mutation: string | null
}

export type ProcessMessage =
  | { kind: 'ready'; url: string; warnings: string[] }
  | { kind: 'failed'; text: string }
  | { kind: 'report'; text: string }

type Product = typeof import('#sandbox/index.ts')

const notify = (message: ProcessMessage) => process.send?.(message)
const { options, mutation } = JSON.parse(process.argv[2]!) as ProcessOptions

try {
  const { startSandbox } = await loadProduct()
  const report = (error: unknown) => notify({ kind: 'report', text: String(error) })
  const sandbox = await startSandbox({ ...options, report })
  process.on('message', () => void close(sandbox))
  process.on('disconnect', () => process.exit())
  notify({ kind: 'ready', url: sandbox.url, warnings: sandbox.warnings })
} catch (error) {
  const { message, hint = '' } = error as Partial<SandboxError>
  notify({ kind: 'failed', text: `${message} ${hint}` })
  process.disconnect?.()
}

async function loadProduct(): Promise<Product> {
  if (mutation !== null) return importMutant<Product>('sandbox/index.ts', mutation, [findEdit(mutation)])
  // The built one starts in a quarter of the time that its sources take.
  return (await import(new URL('../../dist/sandbox.js', import.meta.url).href)) as Product
}

async function close(sandbox: Sandbox): Promise<void> {
  await sandbox.close()
  process.disconnect?.()
}
