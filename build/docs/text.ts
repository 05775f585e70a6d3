/** Markdown as text for a terminal of 80 columns: wrapped, tables aligned or as a list, links named by their topic. */
import { Marked, type Token, type Tokens } from 'marked'

const width = 79

/** `findTopic` returns the topic that a link leads to, or null. */
export function terminalText(markdown: string, findTopic: (href: string) => string | null): string {
  const blocks = new Marked().lexer(markdown).flatMap((token) => block(token, findTopic, width))
  return `${blocks.join('\n\n').trimEnd()}\n`
}

function block(token: Token, findTopic: (href: string) => string | null, columns: number): string[] {
  const inline = (tokens: readonly Token[] = []) => inlineText(tokens, findTopic)
  switch (token.type) {
    case 'heading':
      return [`${'#'.repeat(Number(token.depth))} ${inline(token.tokens)}`]
    case 'paragraph':
    case 'text':
      return present(wrapped(inline(token.tokens), columns))
    case 'code':
      return [indented(String(token.text), 4)]
    case 'blockquote':
      return (token.tokens ?? []).flatMap((inner) => block(inner, findTopic, columns))
    case 'list':
      return [(token as Tokens.List).items.map((item, at) => listItem(token as Tokens.List, item, at)).join('\n')]
    case 'table':
      return [table(token as Tokens.Table)]
    default:
      return []
  }

  function listItem({ ordered, start }: Tokens.List, { tokens }: Tokens.ListItem, at: number): string {
    const mark = ordered ? `${Number(start) + at}. ` : '- '
    const text = tokens.flatMap((inner) => block(inner, findTopic, columns - mark.length)).join('\n\n')
    return mark + indented(text, mark.length).trimStart()
  }

  function table({ header, rows }: Tokens.Table): string {
    const cells = [header, ...rows].map((row) => row.map(({ tokens }) => inline(tokens)))
    const [head = [], ...others] = cells
    const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
    const total = widths.reduce((sum, each) => sum + each + 2, 0)
    const lines = head.every((cell) => cell === '') ? others : cells
    if (total <= columns) {
      return lines
        .map((row) =>
          row
            .map((cell, column) => cell.padEnd(widths[column]! + 2))
            .join('')
            .trimEnd(),
        )
        .join('\n')
    }
    return others
      .map(([first = '', ...rest]) => {
        const named = rest.map((cell, column) => {
          const name = head[column + 1] ?? ''
          return rest.length === 1 || name === '' || cell === '' ? cell : `${name}: ${cell}`
        })
        return [first, ...present(...named).map((cell) => indented(wrapped(cell, columns - 4), 4))].join('\n')
      })
      .join('\n')
  }
}

function present(...texts: readonly string[]): string[] {
  return texts.filter((text) => text !== '')
}

function inlineText(tokens: readonly Token[], findTopic: (href: string) => string | null): string {
  return tokens
    .map((token) => {
      if (token.type === 'image') return ''
      const inner =
        'tokens' in token && token.tokens
          ? inlineText(token.tokens, findTopic)
          : String('text' in token ? token.text : token.raw)
      if (token.type === 'codespan') return inner.includes(' ') || inner === '' ? `\`${inner}\`` : inner
      if (token.type !== 'link') return inner.replaceAll('&lt;', '<').replaceAll('\n', ' ')
      const topic = findTopic(String(token.href))
      return topic === null || topic.endsWith(inner) ? inner : `${inner} (svc docs ${topic})`
    })
    .join('')
}

function wrapped(text: string, columns: number): string {
  const lines: string[] = ['']
  for (const word of text.split(/\s+/).filter((part) => part !== '')) {
    const line = lines.at(-1)!
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= columns) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines.join('\n')
}

function indented(text: string, by: number): string {
  return text.replace(/^(?=.)/gm, ' '.repeat(by))
}
