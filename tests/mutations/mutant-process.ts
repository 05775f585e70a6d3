/**
 * A process that starts one emulator with an edit after the other: `node mutant-process.ts FOLDER`. Each line on standard
 * input is the name of an edit, or `none`; the response is one line of JSON when that emulator is ready, and the one before
 * it is closed. It ends when standard input does, so that it never outlives its test. FOLDER takes edited scripts.
 */
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import type { startSandbox } from '#sandbox/index.ts'
import { applyEdit, type Edit, findEdit } from './edits.ts'
import { importMutant, root } from './mutant-modules.ts'

const [folder = ''] = process.argv.slice(2)

let close: () => Promise<void> = async () => {}
for await (const name of createInterface(process.stdin)) {
  await close()
  const sandbox = await startMutant(name)
  close = () => sandbox.close()
  process.stdout.write(`${JSON.stringify({ url: sandbox.url, keys: sandbox.keys })}\n`)
}
await close()

async function startMutant(name: string) {
  const edits = name === 'none' ? [] : await prepareEdits(findEdit(name))
  const module = await importMutant<{ startSandbox: typeof startSandbox }>('sandbox/index.ts', name, edits)
  return module.startSandbox({ port: 0, seed: 1 })
}

async function prepareEdits(edit: Edit): Promise<Edit[]> {
  return edit.checks.renderer === undefined ? [edit] : [edit, await serveRenderer(edit, join(folder, edit.name))]
}

/** Builds the edited renderer, and returns the edit that makes the emulator serve it. */
async function serveRenderer(edit: Edit, to: string): Promise<Edit> {
  const { buildRenderer } = await import('#build/renderer.ts')
  const { file, source } = applyEdit(edit)
  const path = join(root, file)
  await buildRenderer(to, [
    {
      name: 'edit',
      enforce: 'pre',
      transform: (_code: string, id: string) => (id === path ? source : null),
    },
  ])
  return {
    ...edit,
    in: 'sandbox/server/pipeline#renderer',
    find: "const renderer = 'dist/renderer'",
    replace: `const renderer = ${JSON.stringify(relative(root, to))}`,
  }
}
