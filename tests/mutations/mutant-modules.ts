/**
 * Loads mutated modules of the sandbox into this process. What a mutation does not touch is loaded once: only the module
 * with the edit and those that import it, over however many others, get a query in their URL, by which each mutant has
 * modules of its own. All others are shared, as are packages.
 */
import { globSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { applyEdit, type Edit } from './edits.ts'

export const root = fileURLToPath(new URL('../../', import.meta.url))
const rootUrl = pathToFileURL(root).href

/** The modules that import a module of the sandbox or of src, by URL. */
const importers = new Map<string, string[]>()
for (const file of globSync('{sandbox,src}/**/*.{ts,tsx}', { cwd: root, exclude: ['**/*.test.*'] })) {
  const url = new URL(file, rootUrl).href
  const source = readFileSync(join(root, file), 'utf8').replaceAll(/import type [^']+'[^']+'/g, '')
  for (const [, path = ''] of source.matchAll(/(?:from|import\(|import) ?'([.#][^']+)'/g)) {
    const imported = path.startsWith('#') ? import.meta.resolve(path) : new URL(path, url).href
    importers.set(imported, [...(importers.get(imported) ?? []), url])
  }
}

/** Source texts of the mutant that is being loaded, by URL without query. */
let texts = new Map<string, string>()
/** The modules that this mutant does not share. */
let own = new Set<string>()

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    const query = new URL(context.parentURL ?? rootUrl).search
    return query !== '' && own.has(resolved.url) ? { ...resolved, url: resolved.url + query } : resolved
  },
  load(url, context, nextLoad) {
    const source = url.includes('?') ? texts.get(url.split('?', 1)[0]!) : undefined
    return source === undefined ? nextLoad(url, context) : { format: 'module-typescript', source, shortCircuit: true }
  },
})

/** Imports a module of the sandbox with the edits made, in it and in all that it imports. `file`: relative to the repository. */
export function importMutant<Module>(file: string, name: string, edits: readonly Edit[]): Promise<Module> {
  const toUrl = (path: string) => new URL(path, rootUrl).href
  texts = new Map(
    edits.map((edit) => {
      const { file, source } = applyEdit(edit)
      return [toUrl(file), source]
    }),
  )
  own = withImporters([toUrl(file), ...texts.keys()])
  // With the ending of a source file: modules look at their own URL to find what lies beside them.
  return import(`${toUrl(file)}?mutant=${name}.ts`) as Promise<Module>
}

/** Returns these modules and all that import them, directly or over others. */
function withImporters(urls: readonly string[]): Set<string> {
  const found = new Set(urls)
  // Grows while it is read.
  for (const url of found) for (const importer of importers.get(url) ?? []) found.add(importer)
  return found
}
