/**
 * A process that starts one mutant of the emulator after the other: `node mutant-process.ts FOLDER`. Each line on standard
 * input is the name of a mutation, or `none`; the response is one line of JSON when that emulator is ready, and the one
 * before it is closed. It ends when standard input does, so that it never outlives its test. FOLDER takes mutated scripts.
 */
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import type { startSandbox } from '#sandbox/index.ts'
import { importMutant, root } from './mutant-modules.ts'
import { applyEdit, type Mutation } from './mutation.ts'
import { mutations } from './mutations.ts'

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
  const edits = name === 'none' ? [] : await editsOf(name)
  const module = await importMutant<{ startSandbox: typeof startSandbox }>('sandbox/index.ts', name, edits)
  return module.startSandbox({ port: 0, seed: 1 })
}

async function editsOf(name: string): Promise<Mutation[]> {
  const mutation = mutations.find((each) => each.name === name)
  if (mutation === undefined) throw new Error(`there is no mutation ${name}`)
  return mutation.about === 'renderer' ? [mutation, await servedFrom(mutation, join(folder, name))] : [mutation]
}

/** Builds the mutated renderer, and returns the edit that makes the emulator serve it. */
async function servedFrom(edit: Mutation, to: string): Promise<Mutation> {
  const { buildRenderer } = await import('#build/renderer.ts')
  const { file, source } = applyEdit(edit)
  const path = join(root, file)
  await buildRenderer(to, [
    {
      name: 'mutation',
      enforce: 'pre',
      transform: (_code: string, id: string) => (id === path ? source : null),
    },
  ])
  return {
    ...edit,
    in: 'sandbox/pipeline#renderer',
    from: "const renderer = 'dist/renderer'",
    to: `const renderer = ${JSON.stringify(relative(root, to))}`,
  }
}
