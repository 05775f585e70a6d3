/**
 * One file of CommonJS with a target and everything that it imports, which the fuzzer instruments: ours, and the parsers that
 * we use. Schemas are left out, since instrumented they take most of the time, and so is what is native.
 */
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'vite'

export const root = join(import.meta.dirname, '../..')

/**
 * Writes the bundle of the target in a file: it exports `fuzz`, which runs it. Returns its path. Packages that it leaves out are
 * found by NODE_PATH.
 */
export async function bundleTarget(file: string, folder: string): Promise<string> {
  const entry = '\0target'
  const name = basename(file, '.ts')
  await build({
    configFile: false,
    publicDir: false,
    root,
    logLevel: 'error',
    define: { __SVC_VERSION__: '"0.0.0"' },
    plugins: [
      {
        name: 'target',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? entryText(file) : null),
        // A module finds the files of the package from where it is in the checkout.
        transform: (code, id) =>
          id.startsWith(root) ? code.replaceAll(ownPlace, (_, name) => locatePoint(id, name)) : null,
      },
    ],
    ssr: { target: 'node', noExternal: true, external: ['zod', 'better-sqlite3', 'playwright-core', 'pg'] },
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      target: 'node22',
      minify: false,
      reportCompressedSize: false,
      rolldownOptions: {
        input: { [name]: entry },
        output: { format: 'cjs', entryFileNames: '[name].cjs', codeSplitting: false },
      },
    },
  })
  return join(folder, `${name}.cjs`)
}

const ownPlace = /\bimport\.meta\.(url|dirname|filename)\b/g

function locatePoint(file: string, name: string): string {
  const places: Readonly<Record<string, string>> = {
    url: pathToFileURL(file).href,
    dirname: dirname(file),
    filename: file,
  }
  return JSON.stringify(places[name])
}

function entryText(file: string): string {
  return `
    import { runTarget } from ${JSON.stringify(join(import.meta.dirname, 'target.ts'))}
    import { target } from ${JSON.stringify(file)}
    export const fuzz = (bytes) => runTarget(target, bytes)
  `
}
