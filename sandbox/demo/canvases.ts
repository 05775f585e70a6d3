/** What a product works on besides text: an editor with a diff, a gallery of pictures, the wave of a voice. */
import { find, html, icon, unseen } from './elements.ts'
import { isCalm, pause, seeded } from './motion.ts'
import { paint, type Style, styles } from './paintings.ts'
import type { Line, Prompt } from './script.ts'
import type { State, Surface } from './surfaces.ts'

export interface Canvas {
  readonly element: HTMLElement
  readonly scroller?: HTMLElement
  setState?(state: State): void
  /** Shows the beginning of a turn, instead of the newest one if `isAgain`. */
  begin?(prompt: Prompt, lines: readonly Line[], isAgain: boolean): void
  /** Plays the diff or the pictures of the turn. */
  play?(signal: AbortSignal): Promise<void>
  /** Called when the turn is over, with the element for what can be done now. */
  end?(status: HTMLElement): void
  /** The text for screen readers when it is done. */
  summary?(): string
}

export function createCanvas(kind: Surface['canvas'], status: HTMLElement): Canvas | null {
  if (kind === 'editor') return createEditor()
  if (kind === 'gallery') return createGallery()
  return kind === 'wave' ? createWave(status) : null
}

const folder = ['src/fetch-invoice.ts', 'src/price.ts', 'reports/daily-orders.sql', 'test/parse-amount.test.ts']

function createEditor(): Canvas {
  const lines = html`<div class="lines" dir="ltr"></div>`
  const scroller = html`<div class="editor">${lines}</div>`
  const files = html`<ul class="files" aria-label="Files"></ul>`
  const tab = html`<span class="tab bar"></span>`
  let file = ''
  let rows: HTMLElement[] = []

  function settle(outcome: 'Accepted' | 'Discarded', status: HTMLElement): void {
    for (const row of lines.querySelectorAll(outcome === 'Accepted' ? '.removed' : '.added')) row.remove()
    for (const row of lines.children) row.className = 'line kept'
    status.textContent = outcome
  }
  const count = (kind: string) => rows.filter((row) => row.classList.contains(kind)).length

  return {
    element: html`
      <div class="workspace">
        <nav class="explorer soft" aria-label="Explorer"><h3>ledger</h3>${files}</nav>
        <div class="tabs">${tab}</div>
        ${scroller}
      </div>`,
    scroller,
    begin(_prompt, [diff]) {
      const [path = '', ...changes] = diff?.text.split('\n') ?? []
      file = path
      tab.replaceChildren(icon('file'), file)
      files.replaceChildren(
        ...folder.map((path) => {
          const item = html`<li class="bar">${icon('file')}${path.split('/').at(-1)}</li>`
          if (path === file) item.setAttribute('aria-current', 'true')
          return item
        }),
      )
      rows = changes.map((line) => {
        const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'kept'
        return html`
          <div class="line ${kind}" ${kind === 'added' && 'hidden'}>
            <i data-sign="${line.startsWith('-') ? '−' : '+'}"></i>${kind !== 'kept' && unseen(`${kind}: `)}<code>${highlight(line.slice(1), file)}</code>
          </div>`
      })
      lines.replaceChildren(...rows)
    },
    async play(signal) {
      for (const row of rows.filter((row) => !row.classList.contains('kept'))) {
        row.hidden = false
        row.classList.add('fresh')
        const { offsetTop, offsetHeight } = row
        if (offsetTop + offsetHeight > scroller.scrollTop + scroller.clientHeight) {
          const behavior = isCalm.matches ? 'auto' : 'smooth'
          scroller.scrollTo({ top: offsetTop - scroller.clientHeight / 2, behavior })
        }
        await pause(130, signal)
      }
    },
    end(status) {
      const accept = html`<button type="button" class="small primary">Accept</button>`
      const discard = html`<button type="button" class="small">Discard</button>`
      accept.addEventListener('click', () => settle('Accepted', status))
      discard.addEventListener('click', () => settle('Discarded', status))
      const counts = html`
        <span class="counts"><b data-tone="good">+${count('added')}</b> <b data-tone="bad">−${count('removed')}</b>${unseen(' lines')}</span>`
      status.replaceChildren(accept, discard, counts)
    },
    summary: () => `A suggestion for ${file}.`,
  }
}

const keywords = {
  ts: 'import|from|export|async|function|const|let|return|for|if|throw|new|await|type|interface|number|string',
  sql: 'select|from|join|on|where|group|order|by|as|and|interval|desc|limit|sum|date',
}

/** Returns a line of code with its parts coloured: enough grammar for the files of this demo. */
function highlight(line: string, file: string): (string | Node)[] {
  const [words, comment] = file.endsWith('.sql') ? [keywords.sql, '--.*'] : [keywords.ts, '\\/\\/.*']
  const grammar = new RegExp(
    `(?<comment>${comment})|(?<text>'[^']*'|\`[^\`]*\`)|(?<number>\\b\\d[\\d_]*\\b|:[a-z]+\\b)|(?<keyword>\\b(?:${words})\\b)|(?<call>\\b\\w+(?=\\())`,
    'g',
  )
  const parts: (string | Node)[] = []
  let end = 0
  for (const match of line.matchAll(grammar)) {
    const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0]
    parts.push(line.slice(end, match.index), html`<span class="k-${kind}">${match[0]}</span>`)
    end = match.index + match[0].length
  }
  return [...parts, line.slice(end) || (line === '' ? '\u200b' : '')]
}

const picture_px = 512
const pictures = 4
/** Steps in which a picture comes into focus. */
const passes = 14

function createGallery(): Canvas {
  const element = html`
    <div class="gallery">
      <progress max="100" value="0" aria-label="Progress"></progress>
      <div class="pictures"></div>
      <ul class="strip" aria-label="Earlier pictures"></ul>
    </div>`
  const progress = find<HTMLProgressElement>(element, 'progress')
  const strip = find(element, '.strip')
  let takes = 0
  let text = ''
  let tiles: { canvas: HTMLCanvasElement; final: HTMLCanvasElement }[] = []

  return {
    element,
    begin(prompt, [line], isAgain) {
      for (const { final } of isAgain ? [] : tiles) {
        const thumbnail = html<HTMLCanvasElement>`<canvas width="96" height="96" role="img" aria-label="${text}"></canvas>`
        thumbnail.getContext('2d')?.drawImage(final, 0, 0, 96, 96)
        strip.prepend(html`<li>${thumbnail}</li>`)
      }
      while (strip.childElementCount > 12) strip.lastElementChild?.remove()
      takes += 1
      text = prompt.text
      const style = styles.find((name) => name === line?.text) ?? styles[text.length % styles.length]
      tiles = Array.from({ length: pictures }, (_, index) => {
        const label = `${text}, picture ${index + 1}`
        return {
          canvas: html<HTMLCanvasElement>`<canvas width="${picture_px}" height="${picture_px}" role="img" aria-label="${label}"></canvas>`,
          final: paint(style as Style, `${takes} ${text}`, index, picture_px),
        }
      })
      find(element, '.pictures').replaceChildren(...tiles.map(({ canvas }) => canvas))
      progress.value = 0
      progress.hidden = false
      for (const { canvas, final } of tiles) focus(canvas, final, 0)
    },
    async play(signal) {
      for (let pass = 0; pass <= passes + pictures; pass++) {
        for (const [index, { canvas, final }] of tiles.entries()) {
          focus(canvas, final, isCalm.matches ? 1 : Math.min(1, Math.max(0, (pass - index) / passes)))
        }
        progress.value = (100 * pass) / (passes + pictures)
        await pause(190, signal)
      }
      progress.hidden = true
    },
    summary: () => `${pictures} pictures of ${text}`,
  }
}

/** Draws a picture between coarse at 0 and finished at 1. */
function focus(canvas: HTMLCanvasElement, final: HTMLCanvasElement, share: number): void {
  const context = canvas.getContext('2d')
  const cells = share >= 1 ? picture_px : Math.max(4, Math.round(4 * 2 ** (share * 6)))
  const coarse = html<HTMLCanvasElement>`<canvas width="${cells}" height="${cells}"></canvas>`
  coarse.getContext('2d')?.drawImage(final, 0, 0, cells, cells)
  if (context === null) return
  context.imageSmoothingQuality = 'high'
  context.drawImage(coarse, 0, 0, picture_px, picture_px)
}

const bars = 56
const loudness: Record<State, number> = { idle: 0.06, listening: 0.55, thinking: 0.16, answering: 1 }

/** Bars that move as a voice would: calm when idle, low while it listens, full while it speaks. */
function createWave(status: HTMLElement): Canvas {
  const canvas = html<HTMLCanvasElement>`<canvas class="wave" role="img" aria-label="Voice"></canvas>`
  const random = seeded('vesperine')
  const heights = Array.from({ length: bars }, () => 0)
  const phases = heights.map(() => random() * Math.PI * 2)
  let level = loudness.idle
  let target = level
  let isRunning = false

  const frame = (now: number) => {
    const context = canvas.getContext('2d')
    isRunning = false
    if (context === null || !canvas.isConnected || canvas.offsetParent === null) return
    level = isCalm.matches ? target : level + (target - level) * 0.07
    const { clientWidth: width, clientHeight: height } = canvas
    const scale = devicePixelRatio
    if (canvas.width !== Math.round(width * scale)) {
      canvas.width = Math.round(width * scale)
      canvas.height = Math.round(height * scale)
    }
    context.setTransform(scale, 0, 0, scale, 0, 0)
    context.clearRect(0, 0, width, height)
    context.fillStyle = getComputedStyle(canvas).color
    const step = width / bars
    for (const [bar, phase] of phases.entries()) {
      const middle = 1 - Math.abs(bar / (bars - 1) - 0.5) * 2
      const beat = Math.sin(now / 190 + phase) * Math.sin(now / 470 + bar * 0.35) * 0.5 + 0.5
      const present = heights[bar] ?? 0
      heights[bar] = present + (0.03 + level * beat * (0.25 + 0.75 * middle) - present) * 0.25
      const tall = Math.max(3, heights[bar] * height)
      context.globalAlpha = 0.35 + 0.65 * middle
      context.beginPath()
      context.roundRect(bar * step + step * 0.22, (height - tall) / 2, step * 0.56, tall, step)
      context.fill()
    }
    if (!isCalm.matches && (target >= 0.1 || level >= 0.08)) wake()
  }
  const wake = () => {
    if (!isRunning) requestAnimationFrame(frame)
    isRunning = true
  }
  new ResizeObserver(wake).observe(canvas)
  return {
    element: html`<div class="wave-box">${canvas}${status}</div>`,
    setState(state) {
      target = loudness[state]
      wake()
    },
  }
}
