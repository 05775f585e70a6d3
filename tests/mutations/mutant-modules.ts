/**
 * Loads mutated modules of the sandbox into this process. What a mutation does not touch is loaded once: the modules of the
 * sandbox get a query in their URL, by which each mutant has a graph of its own, while the contract and every package are
 * shared, unless the mutation is in the contract itself.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Edit, edited } from './mutation.ts'

export const root = fileURLToPath(new URL('../../', import.meta.url))
const rootUrl = pathToFileURL(root).href
const sandboxUrl = new URL('sandbox/', rootUrl).href
const sourceUrl = new URL('src/', rootUrl).href

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

/** Imports a module of the sandbox with the edits made, in it and in all that it imports. `file`: relative to the repository. */
export function importMutant<Module>(file: string, name: string, edits: readonly Edit[]): Promise<Module> {
  const urlOf = (path: string) => new URL(path, rootUrl).href
  texts = new Map(edits.map((edit) => [urlOf(edit.file), edited(edit, readFileSync(join(root, edit.file), 'utf8'))]))
  isContractMutated = edits.some((edit) => urlOf(edit.file).startsWith(sourceUrl))
  // With the ending of a source file: modules look at their own URL to find what lies beside them.
  return import(`${urlOf(file)}?mutant=${name}.ts`) as Promise<Module>
}
