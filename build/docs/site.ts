/**
 * Builds the documentation: an HTML page and a terminal text for each page of docs/pages.ts, and an index of topics,
 * titles, headings and words for search, completion and `svc docs --list`. Links between files become links between pages;
 * links to other files of the checkout, and pictures, are left out. All pages are in one file and all texts in another:
 * their common parts compress away, which makes the package and the binary half a megabyte smaller.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import { transformWithOxc } from 'vite'
import { escapeHtml } from '#foundation/html.ts'
import { commandPages } from './commands.ts'
import { createWordLinks, type LinkWords } from './glossary.ts'
import { writeContents } from './llms.ts'
import {
  type DocsPage,
  docsPath,
  isGroup,
  type LinkTargets,
  linkTargets,
  readPages,
  resolveLink,
  toAnchor,
} from './pages.ts'
import { endpointPages } from './reference.ts'
import { terminalText } from './text.ts'

/** One page in dist/docs/index.json. */
export interface IndexEntry {
  topic: string
  title: string
  summary: string
  section: string
  /** Its parts, each below a heading of the second or third level; the first one has none. Codes have no parts. */
  parts: Part[]
}

interface Part {
  heading: string
  /** Each word of its text once, in lower case, separated by blanks. */
  words: string
}

const site = join(import.meta.dirname, 'site')
const demoStyle = join(import.meta.dirname, '../../sandbox/pages/demo/styles/base.css')

export async function buildDocs(outDir: string): Promise<void> {
  const pages = await readSite()
  const targets = linkTargets(pages)
  const contents = renderContents(pages)
  const linkWords = createWordLinks(pages.find(({ topic }) => topic === 'glossary')!.markdown)
  const html: Record<string, string> = {}
  const texts: Record<string, string> = {}
  const index = pages.map((page): IndexEntry => {
    const { topic, title, summary, section, markdown } = page
    html[topic] = pageHtml(page, { targets, contents, pages, linkWords })
    texts[topic] = terminalText(markdown, (href) => linkTopic(page, href, targets))
    return { topic, title, summary, section, parts: isGroup(page.file) && isPart(page) ? [] : splitParts(markdown) }
  })
  html[''] = shell({ title: 'Page not found', topic: '', contents, content: missing, links: '' })
  mkdirSync(outDir, { recursive: true })
  const write = (name: string, text: string) => writeFileSync(join(outDir, name), text)
  write('index.json', JSON.stringify(index))
  write('pages.json', JSON.stringify(html))
  write('texts.json', JSON.stringify(texts))
  write('llms.txt', writeContents(pages))
  const [colours] = /:root \{[\s\S]*?\n\}\n/.exec(readFileSync(demoStyle, 'utf8')) ?? []
  if (colours === undefined)
    throw new Error('The styles of the demo have no :root, whose colours the documentation uses.')
  write('docs.css', `${withPlainColours(colours)}${readFileSync(join(site, 'docs.css'), 'utf8')}`)
  const script = join(site, 'docs.ts')
  write('docs.js', (await transformWithOxc(readFileSync(script, 'utf8'), script)).code)
}

/** Reads all pages, those of endpoints and commands too. */
export async function readSite(): Promise<DocsPage[]> {
  return readPages([...endpointPages(), ...(await commandPages())])
}

/** Puts colours before those of `light-dark()` that every browser has. */
function withPlainColours(colours: string): string {
  const pairs = [...colours.matchAll(/(--[\w-]+): light-dark\(([^,]+), ([^)]+)\);/g)]
  const rule = (selector: string, scheme: 'light' | 'dark') =>
    `${selector} {\n  color-scheme: ${scheme};\n${pairs.map(([, name, light, dark]) => `  ${name}: ${scheme === 'light' ? light : dark};\n`).join('')}}\n`
  const others = [...colours.matchAll(/^ {2}(--[\w-]+): (?!light-dark).*;$/gm)].map(([line]) => line).join('\n')
  return [
    `:root {\n${others}\n}\n`,
    rule(':root', 'light'),
    `@media (prefers-color-scheme: dark) {\n${rule(':root', 'dark')}}\n`,
    rule(':root[data-theme="light"]', 'light'),
    rule(':root[data-theme="dark"]', 'dark'),
    `@supports (color: light-dark(#000, #fff)) {\n${colours}}\n`,
  ].join('')
}

const missing = `<h1>Page not found</h1><p>Search above, or go to the <a href="${docsPath}">contents</a>.</p>`

/** Whether a page is below another, whose list has it. */
function isPart({ topic }: DocsPage): boolean {
  return topic.includes('/')
}

function splitParts(markdown: string): Part[] {
  const parts = [{ heading: '', text: '' }]
  for (const token of createMarkdown(() => null).lexer(markdown)) {
    const isHeading = token.type === 'heading' && (token.depth === 2 || token.depth === 3)
    if (isHeading) parts.push({ heading: plainText(token.tokens ?? []), text: '' })
    else parts.at(-1)!.text += `${token.raw}\n`
  }
  return parts.map(({ heading, text }) => {
    return { heading, words: [...new Set(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu))].join(' ') }
  })
}

/** Returns the topic that a link of a page leads to, or null. */
function linkTopic(page: DocsPage, href: string, targets: LinkTargets): string | null {
  return resolveLink(page, href, targets)?.topic ?? null
}

/** Returns the address that a link leads to; null when it leads to a file that is not a page. */
function address(page: DocsPage, href: string, targets: LinkTargets): string | null {
  if (href.startsWith('/_sandbox/')) return href
  const link = resolveLink(page, href, targets)
  if (link === null) return href
  if (link.topic === null) return null
  const anchor = link.anchor === null ? '' : `#${link.anchor}`
  return link.topic === page.topic && anchor !== '' ? anchor : `${pageUrl(link.topic)}${anchor}`
}

function pageUrl(topic: string): string {
  return topic === 'index' ? docsPath : `${docsPath}${topic}`
}

interface Site {
  linkWords: LinkWords
  targets: LinkTargets
  contents: string
  pages: readonly DocsPage[]
}

function pageHtml(page: DocsPage, { targets, contents, pages, linkWords }: Site): string {
  const written = createMarkdown((href) => address(page, href, targets), isGroup(page.file) && !isPart(page)).parse(
    page.markdown,
    { async: false },
  )
  const content = page.topic === 'glossary' ? written : linkWords(written)
  const siblings = isPart(page)
    ? pages.filter((other) => isPart(other) && other.file === page.file)
    : pages.filter((other) => !isPart(other))
  const at = siblings.indexOf(page)
  return shell({
    title: page.title,
    topic: isPart(page) ? page.topic.split('/')[0]! : page.topic,
    contents,
    content: `${isPart(page) ? trail(page, pages) : ''}${content}`,
    links: `${neighbour('prev', 'Previous', siblings[at - 1])}${neighbour('next', 'Next', siblings[at + 1])}`,
  })
}

function trail(page: DocsPage, pages: readonly DocsPage[]): string {
  const topic = page.topic.split('/')[0]!
  const group = pages.find((other) => other.topic === topic)
  return `<p class="trail"><a href="${pageUrl(topic)}#${page.title}">${escapeHtml(group?.title ?? topic)}</a></p>`
}

function neighbour(rel: string, label: string, page: DocsPage | undefined): string {
  if (page === undefined) return '<span></span>'
  return `<a rel="${rel}" href="${pageUrl(page.topic)}"><small>${label}</small>${escapeHtml(page.title)}</a>`
}

/** The list of pages by section, without those below them. */
function renderContents(pages: readonly DocsPage[]): string {
  const sections = Map.groupBy(
    pages.filter((page) => page.section !== '' && !isPart(page)),
    ({ section }) => section,
  )
  return [...sections]
    .map(([section, own]) => {
      const items = own.map(({ topic, title }) => `<li><a href="${pageUrl(topic)}">${escapeHtml(title)}</a></li>`)
      return `<h2>${escapeHtml(section)}</h2><ul>${items.join('')}</ul>`
    })
    .join('')
}

function shell(page: { title: string; topic: string; contents: string; content: string; links: string }): string {
  const current = `<a href="${pageUrl(page.topic)}"`
  const contents = page.contents.replace(`${current}>`, `${current} aria-current="page">`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title)} · svc</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${docsPath}docs.css">
<script src="${docsPath}docs.js" type="module"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<a class="brand" href="${docsPath}"><span class="logo">${logo}</span><b>svc</b> <span class="faint">docs</span></a>
<search hidden><input type="search" placeholder="Search" aria-label="Search the documentation" role="combobox" aria-expanded="false" aria-autocomplete="list" aria-controls="found" autocomplete="off"><kbd>/</kbd><ol id="found" role="listbox" aria-label="Results" hidden></ol></search>
<button class="theme" type="button" hidden><svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true"><circle cx="8" cy="8" r="6"/><path d="M8 2v12a6 6 0 0 0 0-12z" fill="currentColor"/></svg></button>
<a class="to-demo" href="/_sandbox/">Inspector</a>
<a class="to-demo" href="/_sandbox/demo">Demo</a>
<a class="menu" href="#pages">Menu</a>
</header>
<div class="columns">
<nav id="pages" aria-label="Pages"><a class="close" href="#">Close</a>${contents}</nav>
<main id="content" tabindex="-1">
<article>
${page.content}</article>
<footer>${page.links}</footer>
</main>
</div>
</body>
</html>
`
}

const logo =
  '<svg viewBox="0 0 16 16" width="14" height="14" fill="none" stroke="currentColor" stroke-width="2.5" aria-hidden="true"><path d="M3 5h10M3 11h6"/></svg>'

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%230b6e4f'/%3E%3Cpath d='M4 5h8v2.500H4zm0 4h5v2H4z' fill='%23fff'/%3E%3C/svg%3E"

/** The code is the anchor of its row in a list of codes, as docs_url named it before there were pages. */
function createMarkdown(to: (href: string) => string | null, isList = false): Marked {
  return new Marked({
    renderer: {
      heading({ depth, tokens }) {
        const id = toAnchor(plainText(tokens))
        const text = this.parser.parseInline(tokens)
        if (depth === 1) return `<h1>${text}</h1>\n`
        return `<h${depth} id="${id}">${text}<a class="anchor" href="#${id}" aria-label="Link to this section">#</a></h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const target = to(href)
        return target === null ? text : `<a href="${escapeHtml(target)}">${text}</a>`
      },
      image: () => '',
      code({ text, lang = '' }) {
        const [language = ''] = lang.split(' ')
        return `<div class="code" data-language="${escapeHtml(language)}"><pre tabindex="0"><code>${highlighted(text, language)}</code></pre></div>\n`
      },
      table({ header, rows }) {
        const cells = (tag: string, row: readonly Tokens.TableCell[]) =>
          row.map(({ tokens }) => `<${tag}>${inCell(this.parser.parseInline(tokens))}</${tag}>`).join('')
        // Long names of fields leave room for the columns beside them.
        const inCell = (html: string) =>
          header.length < 5 ? html : html.replace(/(?<=<code>)[^<]+/g, (name) => name.replace(/[._]/g, '$&<wbr>'))
        const hasHead = header.some(({ text }) => text !== '')
        const head = hasHead ? `<thead><tr>${cells('th', header)}</tr></thead>` : ''
        const body = rows.map(
          (row) => `<tr${isList ? ` id="${plainText(row[0]?.tokens ?? [])}"` : ''}>${cells('td', row)}</tr>`,
        )
        return `<div class="table${header.length < 3 ? ' pair' : ''}" tabindex="0" role="region" aria-label="Table"><table>${head}<tbody>${body.join('')}</tbody></table></div>\n`
      },
    },
  })
}

function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) =>
      'tokens' in token && token.tokens ? plainText(token.tokens) : 'text' in token ? String(token.text) : '',
    )
    .join('')
    .replaceAll('&lt;', '<')
}

const words =
  'as async await break case class const continue def default else export extends finally for from function if import in interface let new null None return self switch throw true false True False try type undefined while with'
const keyword = String.raw`(?<![\w.$-])(?:${words.replaceAll(' ', '|')})(?![\w-])`
const string = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\x60(?:[^\x60\\]|\\.)*\x60`
const number = String.raw`(?<![\w.-])\d[\d_.]*(?![\w.-])`
const hash = String.raw`(?<=^|\s)#[^\n]*`
const slashes = String.raw`(?<=^|\s)\/\/[^\n]*`

/** The tokens of each language: comments, strings, then keywords, options or names of fields, then numbers. */
const grammars: Readonly<Record<string, readonly (readonly [tag: string, pattern: string])[]>> = {
  ts: [
    ['i', slashes],
    ['q', string],
    ['b', keyword],
    ['u', number],
  ],
  json: [
    ['var', String.raw`"(?:[^"\\\n]|\\.)*"(?=\s*:)`],
    ['q', string],
    ['b', 'true|false|null'],
    ['u', number],
  ],
  python: [
    ['i', hash],
    ['q', string],
    ['b', keyword],
    ['u', number],
  ],
  sh: [
    ['i', hash],
    ['q', string],
    ['var', String.raw`(?<=\s)--?[A-Za-z][\w-]*`],
  ],
  yaml: [
    ['i', hash],
    ['q', string],
    ['var', String.raw`[\w.-]+(?=:(?:\s|$))`],
    ['u', number],
  ],
  dockerfile: [
    ['i', hash],
    ['q', string],
    ['b', String.raw`(?<=^|\n)[A-Z]+(?=\s)`],
  ],
}
const sameAs: Readonly<Record<string, string>> = {
  tsx: 'ts',
  js: 'ts',
  jsonc: 'json',
  yml: 'yaml',
  bash: 'sh',
  html: '',
}

/** Returns code as HTML, each token in an element of its kind, which the style sheet colours. */
function highlighted(text: string, language: string): string {
  const grammar = grammars[sameAs[language] ?? language]
  if (grammar === undefined) return escapeHtml(text)
  const token = new RegExp(grammar.map(([, pattern]) => `(${pattern})`).join('|'), 'gm')
  let html = ''
  let end = 0
  for (const match of text.matchAll(token)) {
    const [tag] = grammar[match.slice(1).findIndex((part) => part !== undefined)]!
    html += `${escapeHtml(text.slice(end, match.index))}<${tag}>${escapeHtml(match[0])}</${tag}>`
    end = match.index + match[0].length
  }
  return html + escapeHtml(text.slice(end))
}
