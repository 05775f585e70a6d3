/** What a command wrote, with its colours, as the HTML of a terminal window. Knows the SGR codes that `svc` uses. */

export interface Terminal {
  title: string
  runs: Run[]
}

/** One command and its output; `lines` limits it to the first ones. */
export interface Run {
  command: string
  output: string
  lines?: number
}

export function terminalHtml({ title, runs }: Terminal): string {
  const screen = runs.map(runHtml).join('\n\n')
  return `<section class="window terminal"><header><i></i><i></i><i></i><span>${escapeHtml(title)}</span></header><pre>${screen}</pre></section>`
}

function runHtml({ command, output, lines }: Run): string {
  const shown = output.trimEnd().split('\n').slice(0, lines).join('\n').trimEnd()
  return `<b class="prompt">$</b> <b>${escapeHtml(command)}</b>\n${ansiHtml(shown)}`
}

/** Style by the code that begins it; the code that ends it takes the class away again. */
const begins: Record<string, string> = { 1: 'bold', 2: 'dim', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan' }
const ends: Record<string, string[]> = {
  0: Object.values(begins),
  22: ['bold', 'dim'],
  39: ['red', 'green', 'yellow', 'cyan'],
}

/** Text with SGR escape sequences as spans. Throws on a code it does not know, rather than show it wrong. */
function ansiHtml(text: string): string {
  const styles = new Set<string>()
  return text
    .split(/(\u001b\[[\d;]*m)/)
    .map((part) => {
      if (!part.startsWith('\u001b[')) return spanHtml(part, styles)
      for (const code of part.slice(2, -1).split(';')) change(styles, code === '' ? '0' : code)
      return ''
    })
    .join('')
}

function change(styles: Set<string>, code: string): void {
  const style = begins[code]
  const ended = ends[code]
  if (style !== undefined) styles.add(style)
  else if (ended !== undefined) for (const name of ended) styles.delete(name)
  else throw new Error(`SGR code ${code} has no style here. Add it to begins or ends.`)
}

function spanHtml(text: string, styles: Set<string>): string {
  if (text === '') return ''
  return styles.size === 0 ? escapeHtml(text) : `<span class="${[...styles].join(' ')}">${escapeHtml(text)}</span>`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
