/** The matrix of docs/guides/hosts.md: which hosts show and count the ad of the documented integration. */
import type { CauseRow } from '#hosts/matrix.ts'

const heading = '## The matrix of render.js'
const head = '| Condition | Shows | Counts | Why not | Missing |\n|---|---|---|---|---|\n'

/** Replaces the rows of the matrix in the text of the guide. */
export function withMatrix(text: string, rows: readonly CauseRow[]): string {
  const start = text.indexOf(head, text.indexOf(heading)) + head.length
  const end = text.indexOf('\n\n', start - 1)
  return text.slice(0, start) + rows.map(rowText).join('') + text.slice(end === -1 ? text.length : end + 1)
}

function rowText({ condition, shows, counts, why_not, missing }: CauseRow): string {
  const code = missing === null ? '' : `\`${missing.replaceAll('|', '\\|')}\``
  return `| \`${condition}\` | ${shows ? 'yes' : '**no**'} | ${counts ? 'yes' : '**no**'} | ${why_not ?? ''} | ${code} |\n`
}
