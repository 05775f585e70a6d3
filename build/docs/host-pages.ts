/** The tables of docs/host-pages.md: the pages that tests/browser/pages describes, in the engines that run them. */
import { type Engine, type Kind, type PageCase, testedEngines } from '#tests/browser/pages/case.ts'
import { kinds } from '#tests/browser/pages/index.ts'

const engineNames: Readonly<Record<Engine, string>> = { chromium: 'Chromium', firefox: 'Firefox', webkit: 'WebKit' }

/** Writes the tables below the introduction again. */
export function writeHostPages(text: string): string {
  const [introduction = ''] = text.split(/^## /m)
  return `${introduction.trimEnd()}\n\n${kinds.map(renderSection).join('\n')}`
}

function renderSection({ title, pages }: Kind): string {
  const engines = testedEngines.map((engine) => engineNames[engine])
  const rows = pages.flatMap(({ cases }) => cases).map(renderRow)
  return `## ${title}\n
| The page | What happens | ${engines.join(' | ')} |
|---|---|${'---|'.repeat(engines.length)}
${rows.join('')}`
}

function renderRow({ does, happens, differs }: PageCase): string {
  const outcomes = testedEngines.map((engine) => differs?.[engine]?.happens ?? 'yes')
  return `| ${[does, happens, ...outcomes].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
}
