/**
 * A process that starts one mutant of the emulator after the other: `node mutant-process.ts FOLDER`. Each line on standard
 * input is the name of a mutation, or `none`; the response is one line of JSON when that emulator is ready, and the one
 * before it is closed. It ends when standard input does, so that it never outlives its test. FOLDER takes mutated scripts.
 *
 * What a mutation does not touch is loaded once: the modules of the sandbox get a query in their URL, by which each mutant
 * has a graph of its own, while the contract and every package are shared, unless the mutation is in the contract itself.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { startSandbox } from '../../sandbox/index.ts'
import { edited, type Mutation } from './mutation.ts'
import { mutations } from './mutations.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const [folder = ''] = process.argv.slice(2)
const rootUrl = pathToFileURL(root).href
const sandboxUrl = new URL('sandbox/', rootUrl).href
const sourceUrl = new URL('src/', rootUrl).href
const entry = new URL('index.ts', sandboxUrl).href

/** Source texts of the mutant that is being loaded, by URL without query. */
let texts = new Map<string, string>()
let isContractMutated = false

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    const query = new URL(context.parentURL ?? rootUrl).search
    const belongs = resolved.url.startsWith(sandboxUrl) || (isContractMutated && resolved.url.startsWith(sourceUrl))
    return belongs && query !== '' && !resolved.url.includes('?')
      ? { ...resolved, url: resolved.url + query }
      : resolved
  },
  load(url, context, nextLoad) {
    const source = url.includes('?') ? texts.get(url.split('?', 1)[0]!) : undefined
    return source === undefined ? nextLoad(url, context) : { format: 'module-typescript', source, shortCircuit: true }
  },
})

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
  texts = new Map(edits.map((edit) => [urlOf(edit), edited(edit, readFileSync(join(root, edit.file), 'utf8'))]))
  isContractMutated = edits.some((edit) => urlOf(edit).startsWith(sourceUrl))
  // With the ending of a source file: modules look at their own URL to find what lies beside them.
  const module = (await import(`${entry}?mutant=${name}.ts`)) as { startSandbox: typeof startSandbox }
  return module.startSandbox({ port: 0, seed: 1 })
}

function urlOf({ file }: Mutation): string {
  return new URL(file, rootUrl).href
}

async function editsOf(name: string): Promise<Mutation[]> {
  const mutation = mutations.find((each) => each.name === name)
  if (mutation === undefined) throw new Error(`there is no mutation ${name}`)
  return mutation.about === 'renderer' ? [mutation, await servedFrom(mutation, join(folder, name))] : [mutation]
}

/** Builds the mutated renderer, and returns the edit that makes the emulator serve it. */
async function servedFrom(edit: Mutation, to: string): Promise<Mutation> {
  const { buildRenderer } = await import('../../build/renderer.ts')
  const path = join(root, edit.file)
  await buildRenderer(to, [
    {
      name: 'mutation',
      enforce: 'pre',
      transform: (code: string, id: string) => (id === path ? edited(edit, code) : null),
    },
  ])
  return {
    ...edit,
    file: 'sandbox/pipeline/media.ts',
    from: "load('dist/renderer/render.js')",
    to: `load(${JSON.stringify(join(relative(root, to), 'render.js'))})`,
  }
}
