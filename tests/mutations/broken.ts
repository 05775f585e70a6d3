/**
 * The emulator with one mutation, as a process of its own: `node broken.ts NAME FOLDER`. Prints one line of JSON when it
 * is ready, and ends when its standard input does, so that it never outlives its test. FOLDER takes a mutated render.js.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { edited, type Mutation } from './mutation.ts'
import { mutations } from './mutations.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const [name, folder] = process.argv.slice(2)
const mutation = mutations.find((each) => each.name === name)
if (mutation === undefined && name !== 'none') throw new Error(`there is no mutation ${name}`)

const edits: Mutation[] = mutation === undefined ? [] : [mutation]
if (mutation?.about === 'renderer') edits.push(await servedFrom(mutation, folder!))

const texts = new Map<string, string>()
for (const edit of edits) {
  const url = pathToFileURL(join(root, edit.file)).href
  texts.set(url, edited(edit, readFileSync(join(root, edit.file), 'utf8')))
}
registerHooks({
  load(url, context, nextLoad) {
    const source = texts.get(url)
    return source === undefined ? nextLoad(url, context) : { format: 'module-typescript', source, shortCircuit: true }
  },
})

const { startSandbox } = await import('../../sandbox/index.ts')
const sandbox = await startSandbox({ port: 0, seed: 1 })
process.stdin.resume().once('end', () => void sandbox.close())
process.stdout.write(`${JSON.stringify({ url: sandbox.url, keys: sandbox.keys })}\n`)

/** Builds the mutated renderer, and answers the edit that makes the emulator serve it. */
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
    file: 'sandbox/pipeline/assets.ts',
    from: "load('dist/renderer/render.js')",
    to: `load(${JSON.stringify(join(relative(root, to), 'render.js'))})`,
  }
}
