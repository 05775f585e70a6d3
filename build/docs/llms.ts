/**
 * The documentation for language models, in the form of llmstxt.org: the table of contents with a sentence for each page. Every
 * link is absolute, and leads to a page as text; the sandbox puts its own address in place of the usual one.
 */
import { usualAddress } from '#foundation/http.ts'
import type { DocsPage } from './pages.ts'

const about = `Local emulator and command line of the sponsored placement API v1: it decides, renders, counts and audits placements
on your machine, and judges what an app sends. Nothing in it is real traffic or money.`

const hints = `Start with Getting started, then On a server or In a page. Consent is closed by default: read Consent before anything is sent. Fields
that the reference marks as assumed may differ in production. Endpoints and commands have pages of their own, linked from API and Commands.

- The same pages in a terminal: \`svc docs TOPIC --text\`. A code of an error is a topic too: \`svc docs key_class --text\`.
- Tools instead of text: \`svc agent mcp --start\`, or the Model Context Protocol at ${usualAddress}/_sandbox/mcp.
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
  return `${[title, summary, hints, ...parts].join('\n\n')}\n`
}

function listPages(pages: readonly DocsPage[]): DocsPage[] {
  return pages.filter(({ topic, section }) => section !== '' && !topic.includes('/'))
}

function pageAddress(topic: string): string {
  return `${usualAddress}/_sandbox/docs/${topic}.md`
}
