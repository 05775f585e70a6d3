/** The documentation and the QA suites of this package, as text. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtinNames, builtinText } from '#qa/suite/builtin.ts'
import { packageRoot } from '#scaffold/templates.ts'

/** A page as listed in dist/docs/index.json. */
export interface Topic {
  /** `server`, `errors/key_class`. */
  topic: string
  title: string
  summary: string
  section: string
}

interface Resource {
  uri: string
  name: string
  title: string
  description: string
  mimeType: 'text/markdown' | 'text/yaml'
}

const folder = join(packageRoot, 'dist/docs')
const docs = 'svc://docs/'
const suites = 'svc://suites/'

/** Returns every topic of this package. */
export function readTopics(): Topic[] {
  return JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))
}

/** Returns the text of each topic. */
export function readTexts(): Record<string, string> {
  return JSON.parse(readFileSync(join(folder, 'texts.json'), 'utf8'))
}

/** Returns the text of a topic, or of a code without its group; null when there is none. */
export function readTopic(wanted: string): string | null {
  const texts = Object.entries(readTexts())
  const found = texts.find(([topic]) => topic === wanted) ?? texts.find(([topic]) => topic.split('/')[1] === wanted)
  return found?.[1] ?? null
}

/** Returns all suites and all pages, except the pages of single codes. */
export function listResources(): Resource[] {
  const pages = readTopics().filter(({ topic }) => !topic.includes('/'))
  return [
    ...pages.map(({ topic, title, summary }): Resource => {
      return { uri: docs + topic, name: topic, title, description: summary, mimeType: 'text/markdown' }
    }),
    ...builtinNames().map((name): Resource => {
      const description = `The QA suite ${name}: run_qa runs it by this name.`
      return {
        uri: suites + name,
        name: `suite ${name}`,
        title: `QA suite ${name}`,
        description,
        mimeType: 'text/yaml',
      }
    }),
  ]
}

/** Returns the values of a part of svc://docs/{group}/{code}: the groups, or the codes of one group or all groups. */
export function completeTopic(part: string, group?: string): string[] {
  const codes = readTopics()
    .map(({ topic }) => topic.split('/'))
    .filter(({ length }) => length > 1)
  if (part === 'group') return [...new Set(codes.map(([name = '']) => name))]
  return codes.flatMap(([name, code = '']) => (group === undefined || group === name ? [code] : []))
}

/** Returns a resource by its URI; null when there is none. Codes are resources too: svc://docs/errors/key_class. */
export function readResource(uri: string): { mimeType: Resource['mimeType']; text: string } | null {
  if (uri.startsWith(docs)) {
    const text = readTopic(uri.slice(docs.length))
    return text === null ? null : { mimeType: 'text/markdown', text }
  }
  const name = uri.startsWith(suites) ? uri.slice(suites.length) : ''
  return builtinNames().includes(name) ? { mimeType: 'text/yaml', text: builtinText(name) } : null
}
