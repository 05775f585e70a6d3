/**
 * The documentation as data: its pages and their code blocks. What follows the language of a block tells the tests what to
 * do with it, and is not shown to readers:
 *
 *   sh                  run, in order, against a sandbox of the page; exit code 0
 *   sh exit=5           the last command ends with this exit code
 *   sh own              run in a state directory of its own, because it starts sandboxes; see tests/matrices/programs.test.ts
 *   sh unrun=docker     not run, for one of the reasons below; its syntax is checked
 *   text                directly below a shell block: what it prints, compared loosely
 *   LANGUAGE file=NAME  also written to a file, for the shell blocks of the page, and for blocks that import it
 *   LANGUAGE apart=NAME checked by a test of tests/NAME, which installs what it imports
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contentsFile, readPages } from '#build/docs/pages.ts'
import { root } from '#tests/cli/process.ts'

/** Why a block cannot be run by a test. */
export const unrunReasons = {
  browser: 'opens a page of the reader in a browser',
  install: 'installs packages as root',
  docker: 'needs a container engine and an image from a registry',
  postgres: 'needs a PostgreSQL',
  registry: 'installs from a registry',
  checkout: 'installs and tests the checkout that this test is a part of',
  display: 'needs a display, or waits for a person',
  minutes: 'takes minutes, and a test of its own plays a shorter one',
  production: 'calls the real service, with its keys',
} as const

export interface Block {
  /** Relative to the checkout. */
  file: string
  line: number
  language: string
  flags: Readonly<Record<string, string>>
  text: string
  /** What a shell block prints, when that is shown. */
  output: string | null
  /** The heading that it stands below. */
  heading: string
}

/** Files of the site, and the README of the checkout. Codes are read as the files that hold them. */
export const docFiles = ['README.md', ...new Set(readPages().map(({ file }) => `docs/${file}`))].filter(
  (file) => file !== `docs/${contentsFile}` || file === 'docs/README.md',
)

/** Every Markdown file of the checkout whose links must lead somewhere. */
export const linkedFiles = globSync(['README.md', 'CONTRIBUTING.md', '.github/SECURITY.md', 'docs/**/*.md'], {
  cwd: root,
}).toSorted()

export function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

export function blocksOf(file: string): Block[] {
  const text = textOf(file)
  const found = [...text.matchAll(/^```(\w*)([^\n]*)\n(.*?)^```$/gms)]
  return found.map((match, at): Block => {
    const [whole, language = '', words = '', content = ''] = match
    const next = found[at + 1]
    const end = match.index + whole.length
    const isOutput = next?.[1] === 'text' && text.slice(end, next.index).trim() === ''
    const before = text.slice(0, match.index)
    return {
      file,
      line: before.split('\n').length,
      language,
      flags: Object.fromEntries(
        words
          .trim()
          .split(/\s+/)
          .filter(Boolean)
          .map((word) => {
            const [name = '', value = ''] = word.split('=')
            return [name, value]
          }),
      ),
      text: content,
      output: language === 'sh' && isOutput ? (next[3] ?? '') : null,
      heading: [...before.matchAll(/^#+ (.+)$/gm)].at(-1)?.[1] ?? '',
    }
  })
}

/**
 * Writes the blocks of TypeScript and JavaScript into a folder, as block-0.ts and so on: each page may have files of the same
 * name. Returns them in this order.
 */
export function writeCode(folder: string): Block[] {
  const code = docFiles
    .flatMap(blocksOf)
    .filter(({ language, flags }) => ['ts', 'tsx', 'js'].includes(language) && !('apart' in flags))
  const nameOf = ({ language, flags }: Block, at: number) =>
    `block-${at}${flags.file?.includes('.test.') ? '.test' : ''}.${language}`
  for (const [at, block] of code.entries()) {
    // A block imports another of its page by the name of its file.
    const text = block.text.replace(/from '\.\/([^']+)'/g, (whole, name: string) => {
      const other = code.findIndex(({ file, flags }) => file === block.file && flags.file === name)
      return other < 0 ? whole : `from './${nameOf(code[other]!, other)}'`
    })
    writeFileSync(join(folder, nameOf(block, at)), text)
  }
  return code
}
