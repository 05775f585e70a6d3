/** Colours for a line of code: enough grammar for the files of this demo. */
import { el } from '../elements.ts'

const keywords = {
  ts: 'import|from|export|async|function|const|let|return|for|if|throw|new|await|type|interface|number|string',
  sql: 'select|from|join|on|where|group|order|by|as|and|interval|desc|limit|sum|date',
}

export function colour(line: string, file: string): (string | Node)[] {
  const words = file.endsWith('.sql') ? keywords.sql : keywords.ts
  const comment = file.endsWith('.sql') ? '--.*' : '\\/\\/.*'
  const grammar = new RegExp(
    `(?<comment>${comment})|(?<text>'[^']*'|\`[^\`]*\`)|(?<number>\\b\\d[\\d_]*\\b|:[a-z]+\\b)|(?<keyword>\\b(?:${words})\\b)|(?<call>\\b\\w+(?=\\())`,
    'g',
  )
  const parts: (string | Node)[] = []
  let end = 0
  for (const match of line.matchAll(grammar)) {
    const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0] ?? ''
    parts.push(line.slice(end, match.index), el('span', { class: `k-${kind}` }, match[0]))
    end = match.index + match[0].length
  }
  parts.push(line.slice(end) || (line === '' ? '\u200b' : ''))
  return parts
}
