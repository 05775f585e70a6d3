/**
 * The only user of Vite: every bundle of dist is built here, so the notices cover everything bundled. They list the
 * licences of the modules that are really in the output, after unused code was removed.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { InlineConfig, Plugin, Rolldown } from 'vite'

/** A package that is bundled, at least in part. */
export interface BundledPackage {
  name: string
  version: string
  /** SPDX expression. */
  license: string
  /** The licence text from the package, or the standard text where the package only names the licence. */
  text: string
}

const found = new Map<string, BundledPackage>()

/** Runs a build of Vite without a configuration file, records the packages that it bundles, and returns its output. */
export async function bundle(config: InlineConfig): Promise<Rolldown.RolldownOutput> {
  const { build } = await import('vite')
  const plugins = [config.plugins, notices]
  // A comment above each module says where it is from, and chunks are named by their content: packages that a link leads to would
  // be named by their distance from this checkout.
  const resolve = { ...config.resolve, preserveSymlinks: true }
  return (await build({ configFile: false, publicDir: false, ...config, resolve, plugins })) as Rolldown.RolldownOutput
}

/** Returns the packages that the bundles of this process contain, by name. */
export function bundledPackages(): BundledPackage[] {
  return [...found.values()].toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
}

/** Records the package of each module of which a chunk has code. */
const notices: Plugin = {
  name: 'notices',
  generateBundle(_options, output) {
    for (const chunk of Object.values(output)) {
      if (chunk.type === 'chunk') for (const [id, module] of Object.entries(chunk.modules)) note(id, module)
    }
  },
}

function note(id: string, { renderedLength }: Rolldown.RenderedModule): void {
  // A module that a plugin made, such as a part of a CommonJS one, is named after the file, with marks around it.
  const [, file] = /^\0?(.*?)(?:\?.*)?$/.exec(id) ?? []
  if (renderedLength === 0 || file === undefined || !/[\\/]node_modules[\\/]/.test(file)) return
  const noted = installedPackage(findPackage(dirname(file)))
  found.set(key(noted), noted)
}

/** Returns the folder of the package that a folder is in: some folders in a package have a nameless package.json. */
function findPackage(folder: string): string {
  const manifest = join(folder, 'package.json')
  const { name, version } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {}
  return name === undefined || version === undefined ? findPackage(dirname(folder)) : folder
}

/** Returns a package that is installed in a folder. @throws Error when it names no licence */
export function installedPackage(folder: string): BundledPackage {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const texts = ['{LICENSE,LICENCE,license}*', 'NOTICE*'].flatMap((pattern) => {
    const [file] = globSync(pattern, { cwd: folder })
    return file === undefined ? [] : [readFileSync(join(folder, file), 'utf8')]
  })
  const holder = author?.name ?? author
  return described({ name, version, license: license ?? null, text: texts.join('\n\n'), holder })
}

/** Returns the notices of packages as one text. */
export function noticesText(
  packages: readonly BundledPackage[],
  beginning = 'svc-sandbox contains, in part or as a whole,',
): string {
  const line = '-'.repeat(80)
  return [
    `${beginning} these third-party packages, each under its own licence.`,
    '',
    ...packages.map(({ name, version, license }) => `  ${name} ${version} (${license})`),
    ...packages.flatMap(({ name, version, license, text }) => [
      '',
      line,
      `${name} ${version} (${license})`,
      line,
      '',
      text.trim(),
    ]),
    '',
  ].join('\n')
}

interface Described {
  name: string | null
  version: string | null
  license: string | null
  /** Empty where the package has none. */
  text: string
  holder: string | undefined
}

function described({ name, version, license, text, holder }: Described): BundledPackage {
  if (name === null || version === null || license === null)
    throw new Error(`${name ?? 'A package'} is bundled and has no licence. Ask its author, or take another.`)
  if (text !== '') return { name, version, license, text }
  const standard =
    license === 'MIT' ? mit(holder ?? `the authors of ${name}`) : `https://spdx.org/licenses/${license}.html`
  return { name, version, license, text: standard }
}

function key({ name, version }: BundledPackage): string {
  return `${name}@${version}`
}

/** Returns the text of the MIT licence, which a few packages leave out, from ours. */
function mit(holder: string): string {
  const own = readFileSync(join(import.meta.dirname, '../LICENSE'), 'utf8')
  return own.replace(/^Copyright .*$/m, () => `Copyright (c) ${holder}`)
}
