/** The tables of docs/renderer.md: which ads are seen, from the layouts that tests/browser/sight.test.ts judges. */
import { type SightCase, type SightGroup, sights } from '#tests/browser/sight-table.ts'

const heading = '## Seen, not seen, unmeasured\n'

/** Writes the tables of the section again, below its introduction. */
export function writeSights(text: string): string {
  const [before = '', section = ''] = text.split(heading)
  const [own = '', ...after] = section.split(/^(?=## )/m)
  const [introduction = ''] = own.split(/^### /m)
  return `${before}${heading}${introduction.trimEnd()}\n\n${sights.map(renderGroup).join('\n')}\n${after.join('')}`
}

function renderGroup({ title, signal, cases }: SightGroup): string {
  return `### ${title}\n\n${signal}\n
| On the page | Chromium | Firefox, WebKit |
|---|---|---|
${cases.map(renderRow).join('')}`
}

function renderRow({ what, is, elsewhere }: SightCase): string {
  return `| ${[what, words[is], words[elsewhere?.is ?? is]].join(' | ')} |\n`
}

const words = { seen: 'seen', not_seen: '**not seen**', unmeasured: 'unmeasured' }
