/** The README as data: its code blocks, the commands in them and the files it links to. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../cli/process.ts'

export const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** One thing that a reader would run: a command line without its comment, or a whole block that uses curl. */
export const steps = blocksOf('sh').flatMap((block) => {
  if (/^curl /m.test(block)) return [block]
  return block
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '')
})

export const examples = blocksOf('ts')

/** Paths of this checkout that the README links to or shows. */
export const linkedFiles = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path as string)

/** Scripts of the package that its text names. */
export const scripts = [...readme.matchAll(/npm run (\w+)/g)].map(([, name]) => name as string)

function blocksOf(language: string): string[] {
  return [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, name]) => name === language)
    .map(([, , text]) => text as string)
}
