/** Links the first use of each word of docs/concepts/glossary.md on a page to its row there. */
import { docsPath, toAnchor } from './pages.ts'

/** The words of its tables that mean something else elsewhere. Others, such as `session`, mean here what they mean anywhere. */
const linked: ReadonlySet<string> = new Set(
  'turn job slot decision fill no-fill placement campaign creative floor beacon viewable evidence'.split(' '),
)

/** Elements whose text is no prose. */
const closed = /^(?:a|code|pre|button|h[1-6])$/

export type LinkWords = (html: string) => string

/** @param glossary the page in Markdown: its words are the first cells of its tables */
export function createWordLinks(glossary: string): LinkWords {
  const anchors = new Map<string, string>()
  for (const part of glossary.split(/^## /m).slice(1)) {
    const anchor = toAnchor(part.split('\n', 1)[0]!)
    for (const [, word = ''] of part.matchAll(/^\| ([\w -]+) \|/gm)) if (linked.has(word)) anchors.set(word, anchor)
  }
  const missing = [...linked].filter((word) => !anchors.has(word))
  if (missing.length > 0) throw new Error(`docs/concepts/glossary.md has no row for ${missing.join(', ')}.`)
  const word = new RegExp(`(?<![\\w-])(?:${[...linked].join('|')})(?![\\w-])`, 'g')
  return (html) => {
    const used = new Set<string>()
    let depth = 0
    return html.replace(/<(\/?)(\w+)[^>]*>|[^<]+/g, (part, end?: string, element?: string) => {
      if (element !== undefined) {
        if (closed.test(element)) depth += end === '/' ? -1 : 1
        return part
      }
      if (depth > 0) return part
      return part.replace(word, (found) => {
        if (used.has(found)) return found
        used.add(found)
        return `<a class="word" href="${docsPath}glossary#${anchors.get(found)}">${found}</a>`
      })
    })
  }
}
