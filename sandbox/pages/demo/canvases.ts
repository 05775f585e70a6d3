/** The canvas of a product other than text: an editor with a diff, a gallery of pictures, the waveform of a voice. */
import { find, html, icon, isCalm, pause, unseen } from './elements.ts'
import type { Answer, DemoProduct, Prompt } from './surfaces.ts'

interface Canvas {
  readonly element: HTMLElement
  readonly scroller?: HTMLElement
  /** Shows the beginning of a turn, instead of the newest one if `isAgain`. */
  begin?(prompt: Prompt, answer: Answer, isAgain: boolean): void
  /** Plays the diff or the pictures of the turn. */
  play?(signal: AbortSignal): Promise<void>
  /** Called when the turn is over. */
  end?(): void
  /** The text for screen readers when it is done. */
  summary?(): string
}

/** `status` is the element for the product's state and for the actions when a turn is over. */
export function createCanvas(surface: DemoProduct, status: HTMLElement): Canvas | null {
  if (surface.canvas === 'editor') return createEditor(surface, status)
  if (surface.canvas === 'gallery') return createGallery(surface)
  return surface.canvas === 'wave' ? createWave(status) : null
}

function createEditor({ files: folder = [] }: DemoProduct, status: HTMLElement): Canvas {
  const lines = html`<div class="lines" dir="ltr"></div>`
  const scroller = html`<div class="editor">${lines}</div>`
  const files = html`<ul class="files" aria-label="Files"></ul>`
  const tab = html`<span class="tab bar paper"></span>`
  let file = ''
  let rows: HTMLElement[] = []

  function button(label: string, outcome: string, dropped: string): HTMLElement {
    const element = html`<button type="button" class="small label">${label}</button>`
    element.addEventListener('click', () => {
      for (const row of lines.querySelectorAll(dropped)) row.remove()
      for (const row of lines.children) row.className = 'line kept'
      status.textContent = outcome
    })
    return element
  }
  const count = (kind: string) => rows.filter((row) => row.classList.contains(kind)).length

  return {
    element: html`
      <div class="workspace">
        <nav class="explorer soft" aria-label="Explorer"><h3>ledger</h3>${files}</nav>
        <div class="tabs ruled-below">${tab}</div>
        ${scroller}
      </div>`,
    scroller,
    begin(_prompt, { diff }) {
      file = diff?.file ?? ''
      tab.replaceChildren(icon('file'), file)
      files.replaceChildren(...folder.map((path) => renderFile(path, path === file)))
      rows = (diff?.lines ?? []).map((line) => renderLine(line, file))
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
    end() {
      const accept = button('Accept', 'Accepted', '.removed')
      const discard = button('Discard', 'Discarded', '.added')
      accept.classList.add('primary')
      const counts = html`
        <span class="counts"><b data-tone="good">+${count('added')}</b> <b data-tone="bad">−${count('removed')}</b>${unseen(' lines')}</span>`
      status.replaceChildren(accept, discard, counts)
    },
    summary: () => `A suggestion for ${file}.`,
  }
}

function renderFile(path: string, isOpen: boolean): HTMLElement {
  const item = html`<li class="bar">${icon('file')}${path.split('/').at(-1)}</li>`
  if (isOpen) item.setAttribute('aria-current', 'true')
  return item
}

/** Returns a line of a diff; one that is added is hidden until it is played. */
function renderLine(line: string, file: string): HTMLElement {
  const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'kept'
  return html`
    <div class="line ${kind}" ${kind === 'added' && 'hidden'}>
      <i class="faint" data-sign="${line.startsWith('-') ? '−' : '+'}"></i>${kind !== 'kept' && unseen(`${kind}: `)}<code>${highlight(line.slice(1), file)}</code>
    </div>`
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
    parts.push(
      line.slice(end, match.index),
      html`<span class="${kind === 'comment' ? 'faint' : `k-${kind}`}">${match[0]}</span>`,
    )
    end = match.index + match[0].length
  }
  return [...parts, line.slice(end) || (line === '' ? '\u200b' : '')]
}

/** A prompt has four pictures. They come into focus one after the other, each in this many steps. */
const pictures = 4
const passes = 14
const passMs = 190

function createGallery({ prompts }: DemoProduct): Canvas {
  const element = html`
    <div class="gallery">
      <progress max="${passes + pictures}" value="0" aria-label="Progress"></progress>
      <div class="pictures"></div>
      <ul class="strip bar" aria-label="Earlier pictures"></ul>
    </div>`
  const progress = find<HTMLProgressElement>(element, 'progress')
  const strip = find(element, '.strip')
  let takes = 0
  let text = ''
  let tiles: HTMLElement[] = []

  return {
    element,
    begin(prompt, answer, isAgain) {
      if (!isAgain) strip.prepend(...tiles.toReversed().map((tile) => html`<li>${tile}</li>`))
      while (strip.childElementCount > 12) strip.lastElementChild?.remove()
      takes += 1
      text = prompt.text
      const name = answer.pictures ?? prompts[text.length % prompts.length]?.answer?.pictures
      tiles = Array.from({ length: pictures }, (_, index) => {
        const source = `/_sandbox/demo/pictures/${name}-${1 + ((index + takes - 1) % pictures)}.webp`
        const mirrored = takes % 2 === 0 && 'mirrored'
        return html`
          <div class="picture ${mirrored}"><img src="${source}" width="512" height="512" alt="${text}, picture ${index + 1}"></div>`
      })
      find(element, '.pictures').replaceChildren(...tiles)
      progress.value = 0
      progress.hidden = false
      for (const tile of tiles) tile.style.setProperty('--coarse', '1')
    },
    async play(signal) {
      const last = passes + pictures
      for (let pass = isCalm.matches ? last : 0; pass <= last; pass++) {
        for (const [index, tile] of tiles.entries()) {
          const share = Math.min(1, Math.max(0, (pass - index) / passes))
          tile.style.setProperty('--coarse', `${1 - share}`)
        }
        progress.value = pass
        await pause(passMs, signal)
      }
      progress.hidden = true
    },
    summary: () => `${pictures} pictures of ${text}`,
  }
}

const bars = 56

/** Bars that move like a voice; how much depends on the style sheet and the product's state. */
function createWave(status: HTMLElement): Canvas {
  const elements = Array.from({ length: bars }, (_, bar) => {
    const element = html`<i></i>`
    element.style.setProperty('--share', `${1 - Math.abs(bar / (bars - 1) - 0.5) * 2}`)
    element.style.setProperty('--beat', `${400 + ((bar * 197) % 331)}ms`)
    return element
  })
  const wave = html`<div class="wave bar" role="img" aria-label="Voice">${elements}</div>`
  return { element: html`<div class="wave-box">${wave}${status}</div>` }
}
