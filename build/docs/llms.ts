/**
 * The documentation for language models, in the form of llmstxt.org: `llms.txt` is the table of contents with a sentence
 * for each page, `llms-full.txt` has the pages themselves, without those of single codes. Every link is absolute; the
 * sandbox puts its own address in place of the usual one.
 */
import { usualAddress } from '#foundation/http.ts'
import { type DocsPage, isGroup, type LinkTargets, linkTargets, resolveLink } from './pages.ts'

const about = `Local emulator and command line of the sponsored placement API v1: it decides, renders, counts and audits placements
on your machine, and judges what an app sends. Nothing in it is real traffic or money.`

const hints = `Start with Getting started, then On a server or In a page. Consent is closed by default: read Consent before anything is sent. Fields
that the reference marks as assumed may differ in production.

- The same pages in a terminal: \`svc docs TOPIC --text\`. A code of an error is a topic too: \`svc docs key_class --text\`.
- Tools instead of text: \`svc mcp --start\`, or the Model Context Protocol at ${usualAddress}/_sandbox/mcp.
- The API as OpenAPI 3.1: [openapi.json](${usualAddress}/_sandbox/openapi.json).`

/** Returns the text of llms.txt. */
export function writeContents(pages: readonly DocsPage[]): string {
  const sections = Map.groupBy(listPages(pages), ({ section }) => section)
  const parts = [...sections].map(([section, own]) => {
    const items = own.map(({ topic, title, summary }) => `- [${title}](${pageAddress(topic)}): ${summary}`)
    return `## ${section}\n\n${items.join('\n')}`
  })
  const [title, summary] = [
    '# svc',
    about
      .split('\n')
      .map((line) => `> ${line}`)
      .join('\n'),
  ]
  const optional = `## Optional\n\n- [All pages in one file](${usualAddress}/_sandbox/docs/llms-full.txt): the pages above, in their order.`
  return `${[title, summary, hints, ...parts, optional].join('\n\n')}\n`
}

/** Returns the text of llms-full.txt. */
export function writeWhole(pages: readonly DocsPage[]): string {
  const targets = linkTargets(pages)
  const texts = listPages(pages).map((page) => {
    return `<!-- ${pageAddress(page.topic)} -->\n\n${withAbsoluteLinks(page, targets).trim()}`
  })
  return `${texts.join('\n\n')}\n`
}

function listPages(pages: readonly DocsPage[]): DocsPage[] {
  return pages.filter(({ file, topic, section }) => section !== '' && !(isGroup(file) && topic.includes('/')))
}

function pageAddress(topic: string): string {
  return `${usualAddress}/_sandbox/docs/${topic}.md`
}

/** Blocks of code stay as they are, pictures and links to files that are no page are left out. */
function withAbsoluteLinks(page: DocsPage, targets: LinkTargets): string {
  const parts = page.markdown.split(/^(```[\s\S]*?^```)$/m)
  const link = (whole: string, text: string, href: string) => {
    if (href.startsWith('/_sandbox/')) return `[${text}](${usualAddress}${href})`
    const target = resolveLink(page, href, targets)
    if (target === null) return whole
    if (target.topic === null) return text
    return `[${text}](${pageAddress(target.topic)}${target.anchor === null ? '' : `#${target.anchor}`})`
  }
  return parts
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replace(/!\[[^\]]*\]\([^)]*\)/g, '').replace(/(?<!`)\[([^\][]+)\]\(([^)\s]+)\)/g, link),
    )
    .join('')
}
