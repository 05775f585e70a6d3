/**
 * The documentation as data. docs/README.md is its table of contents: the sections are its headings, the pages its links. The
 * name of a file is its topic, as in `svc docs server` and `/_sandbox/docs/server`. A file of docs/codes holds a group of
 * codes: each heading of its second level is a page of its own, `errors/key_class`, and the group a list of them. Endpoints and
 * commands have pages of their own too, which only the build makes: the committed file is their list.
 */
import { readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { renderExample } from './codes.ts'

export interface DocsPage {
  /** `server`, `errors/key_class`; `index` is the table of contents. */
  topic: string
  title: string
  /** One sentence, for lists. */
  summary: string
  /** The section of the table of contents. */
  section: string
  /** The source, relative to docs: links start there. */
  file: string
  markdown: string
}

export interface DocsLink {
  /** Null for a file that has no page. */
  topic: string | null
  /** Without `#`; null for the whole page. */
  anchor: string | null
  /** The file that is linked to, relative to docs. */
  file: string
}

/** A page below a committed one, which lists it. */
export interface PagePart {
  /** The committed file, relative to docs. */
  file: string
  /** Behind the topic of that file: `placements.create` in `reference/placements.create`. */
  name: string
  title: string
  summary: string
  markdown: string
  /** The first cells of rows of the committed page that become links to it, each with the anchor: `#svc-env` or none. */
  rows: Readonly<Record<string, string>>
}

/** Where the sandbox serves the pages. */
export const docsPath = '/_sandbox/docs/'

const folder = join(import.meta.dirname, '../../docs')

export const contentsFile = 'README.md'

/** Reads all pages: those of the table of contents in its order, each followed by those below it. */
export function readPages(below: readonly PagePart[] = []): DocsPage[] {
  const read = readFile
  const contents = read(contentsFile)
  const index: DocsPage = {
    topic: 'index',
    title: readTitle(contents),
    summary: 'All pages.',
    section: '',
    file: contentsFile,
    markdown: contents,
  }
  const pages = contents
    .split(/^## /m)
    .slice(1)
    .flatMap((part) => {
      const section = part.split('\n', 1)[0]!
      return [...part.matchAll(/^- \[[^\]]+\]\(([^)]+\.md)\): (.+)$/gm)].flatMap(([, file, summary]) =>
        splitPages(file!, summary!, section, below),
      )
    })
  return [index, ...pages]
}

function splitPages(file: string, summary: string, section: string, below: readonly PagePart[]): DocsPage[] {
  const markdown = readFile(file)
  const topic = topicName(file)
  const page = { topic, title: readTitle(markdown), summary, section, file, markdown }
  if (isGroup(file)) return splitCodes(page)
  const parts = below.filter((part) => part.file === file)
  const own = parts.map(({ name, title, summary, markdown }) => ({
    ...page,
    ...{ topic: `${topic}/${name}`, title, summary, markdown },
  }))
  return [{ ...page, markdown: withRowLinks(page, parts) }, ...own]
}

function splitCodes(page: DocsPage): DocsPage[] {
  const [introduction = '', ...parts] = page.markdown.split(/^## /m)
  const codes = parts.map((part) => codePage(page, part))
  const rows = codes.map(
    ({ topic: code, title, summary }) => `| [\`${title}\`](#${code.split('/')[1]}) | ${summary} |\n`,
  )
  return [{ ...page, markdown: `${introduction}| Code | |\n|---|---|\n${rows.join('')}` }, ...codes]
}

/** Links the first cell of each row to the page that it names. */
function withRowLinks({ topic, markdown }: DocsPage, parts: readonly PagePart[]): string {
  const targets = new Map(
    parts.flatMap(({ name, rows }) =>
      Object.entries(rows).map(([cell, anchor]) => [cell, `${topic}/${name}${anchor}`]),
    ),
  )
  return markdown.replace(/^\| `([^`]+)` \|/gm, (row, cell: string) => {
    const target = targets.get(cell)
    return target === undefined ? row : `| [\`${cell}\`](${docsPath}${target}) |`
  })
}

function codePage(group: DocsPage, part: string): DocsPage {
  const [code = ''] = part.split('\n', 1)
  const body = part.slice(code.length).trim()
  const example = renderExample(group.topic, code)
  return {
    ...group,
    topic: `${group.topic}/${code}`,
    title: code,
    summary: readSummary(body),
    markdown: `# ${code}\n\n${body}\n${example === null ? '' : `\n## Response\n\n\`\`\`json\n${example}\n\`\`\`\n`}`,
  }
}

/** Returns the first paragraph of the generated blockquote. */
function readSummary(body: string): string {
  return (body.split(/\n>?\n/, 1)[0] ?? '').replace(/^> ?/gm, '').replaceAll('\n', ' ')
}

function readTitle(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1] ?? ''
}

export function isGroup(file: string): boolean {
  return dirname(file) === 'codes'
}

export function topicName(file: string): string {
  return file === contentsFile ? 'index' : basename(file, '.md')
}

/** What links can lead to. */
export interface LinkTargets {
  /** The files that are pages. */
  files: ReadonlySet<string>
  /** Topics by their lower-case form: GitHub makes the anchor of a code in lower case. */
  topics: ReadonlyMap<string, string>
}

export function linkTargets(pages: readonly DocsPage[]): LinkTargets {
  return {
    files: new Set(pages.map(({ file }) => file)),
    topics: new Map(pages.map(({ topic }) => [topic.toLowerCase(), topic])),
  }
}

/** Returns where a link of a page leads; null when it leads to another site. */
export function resolveLink(
  from: Pick<DocsPage, 'file'>,
  href: string,
  { files, topics }: LinkTargets,
): DocsLink | null {
  if (/^[a-z]+:/.test(href)) return null
  if (href.startsWith(docsPath)) {
    const [topic = '', anchor = null] = href.slice(docsPath.length).split('#')
    return { topic: topics.get(topic.toLowerCase()) ?? null, anchor, file: from.file }
  }
  const [path = '', anchor] = href.split('#')
  const file = path === '' ? from.file : normalize(join(dirname(from.file), path))
  if (!files.has(file)) return { topic: null, anchor: anchor ?? null, file }
  const topic = topicName(file)
  if (anchor === undefined) return { topic, anchor: null, file }
  if (!isGroup(file)) return { topic, anchor, file }
  const code = `${topic}/${anchor}`
  return { topic: topics.get(code.toLowerCase()) ?? code, anchor: null, file }
}

/** Returns the anchor of a heading, as GitHub makes it. */
export function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

function readFile(file: string): string {
  return readFileSync(join(folder, file), 'utf8')
}
