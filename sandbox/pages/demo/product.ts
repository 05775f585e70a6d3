/** One product, played from its data: the window, the composer, the slot, and a turn line by line. */
import type { JobType } from '#contract/fields.ts'
import type { Turn } from '#renderer/host/turn.ts'
import { createCanvas } from './canvases.ts'
import { find, html, icon, makeScroller, pause, stickToEnd, unseen, write } from './elements.ts'
import { type Answer, type DemoProduct, options, type Prompt, type State, type Step, surfaces } from './surfaces.ts'

/** The window width from which a product has room for two columns, CSS pixels. */
const widePx = 760

export interface Product {
  readonly element: HTMLElement
  /** The slot of the newest turn. */
  readonly slot: Slot
  prompt: Prompt
  /** Shows a prompt, instead of the newest turn if `isAgain`. Returns the work of its turn. */
  begin(prompt: Prompt, isAgain: boolean): (signal: AbortSignal) => Promise<void>
  setRunning(isRunning: boolean): void
  /**
   * Whether it is wide now, and the maximum height of an ad, CSS pixels: the content next to the slot needs room too.
   */
  measure(format: string): { isWide: boolean; max_height: number }
}

interface ProductActions {
  ask(prompt: Prompt): void
  again(): void
  stop(): void
}

export function createProduct(job_type: JobType, actions: ProductActions): Product {
  const surface = surfaces[job_type]
  const isSlotInTurn = surface.slot.position === 'inline' || surface.slot.position === 'between'
  let slot = createSlot(job_type)
  const composer = createComposer(job_type, surface, actions)
  const stage = createStage(job_type, composer.element, isSlotInTurn ? null : slot.element)
  const { element, turns, thread, canvas, news, setState } = stage
  return {
    element,
    get slot() {
      return slot
    },
    prompt: surface.prompts[0] as Prompt,
    begin(prompt, isAgain) {
      if (isAgain || !surface.keepsHistory) turns.lastElementChild?.remove()
      if (isSlotInTurn) slot = createSlot(job_type)
      const turn = createTurn(surface, prompt, isSlotInTurn ? slot.element : null)
      if (!stage.status.closest('.wave-box')) turn.answer.after(stage.status)
      turns.append(turn.element)
      if (surface.scrolls.part === 'thread' && !surface.keepsHistory) thread.scrollTop = 0
      canvas?.begin?.(prompt, turn.script, isAgain)
      return async (signal) => {
        news.textContent = ''
        try {
          const last = await playTurn(turn, stage, signal)
          news.textContent = `${canvas?.summary?.() ?? ''} ${last.innerText}`.trim()
        } finally {
          turn.answer.removeAttribute('aria-busy')
          for (const { element } of turn.steps)
            if (element.dataset.state === 'running') element.dataset.state = 'stopped'
          // A turn that was stopped by the next one must not touch the next one's output.
          if (turn.element === turns.lastElementChild) {
            setState('idle')
            canvas?.end?.()
          }
        }
      }
    },
    setRunning: composer.setRunning,
    measure: (format) => measureRoom(element, surface.slot, format),
  }
}

type Stage = ReturnType<typeof createStage>

/** The window of a product. `slot` has its fixed place in it. */
function createStage(job_type: JobType, composer: HTMLElement, slot: HTMLElement | null) {
  const surface = surfaces[job_type]
  const { product, scrolls } = surface
  const status = html`<p class="state bar soft"></p>`
  const canvas = createCanvas(surface, status)
  const turns = html`<div class="exchanges"></div>`
  const thread = html`<div class="thread">${turns}</div>`
  const body = html`<div class="body ${job_type}">${canvas?.element}${thread}${slot}</div>`
  const news = html`<p class="unseen" role="status"></p>`
  const element = html`
    <section class="window paper" data-surface="${job_type}" aria-label="${product}, ${options.surface[job_type].label}">
      <header class="window-bar bar ruled-below">
        <span class="logo">${icon(job_type)}</span><h1>${product}</h1><p class="faint clipped">${surface.tagline}</p>
      </header>
      ${body}${composer}${news}
    </section>`
  element.style.setProperty('--hue', `${surface.hue}`)
  element.style.setProperty('--depth', `${surface.depth ?? 34}%`)
  const scroller = { body, thread, canvas: canvas?.scroller ?? body }[scrolls.part]
  makeScroller(scroller, scrolls.label)
  if (scrolls.part === 'thread') stickToEnd(scroller, turns)
  const setState = (state: State): void => showState(element, status, state, surface)
  setState('idle')
  return { element, turns, thread, canvas, status, news, pace: surface.pace, setState }
}

type TurnView = ReturnType<typeof createTurn>

function createTurn({ product, pace, fallback }: DemoProduct, prompt: Prompt, slot: HTMLElement | null) {
  const script = prompt.answer ?? fallback
  const question = html`<p class="question" dir="auto">${unseen('You: ')}${!pace.question_ms && prompt.text}</p>`
  const steps = (script.steps ?? []).map((step) => ({ ...step, element: createStep(step) }))
  const list = steps.length > 0 && html`<ol class="steps">${steps.map(({ element }) => element)}</ol>`
  const answer = html`<div class="answer" dir="auto" aria-busy="true">${unseen(`${product}: `)}${list}</div>`
  const element = html`<section class="exchange" dir="auto">${question}${answer}${slot}</section>`
  return { element, question, answer, steps, script, prompt }
}

/** Returns the last element that it wrote. */
async function playTurn(turn: TurnView, { canvas, pace, setState }: Stage, signal: AbortSignal): Promise<HTMLElement> {
  const { element, question, answer, steps, script, prompt } = turn
  if (pace.question_ms) {
    setState('listening')
    await write(question, prompt.text, signal, pace.question_ms)
  }
  setState('thinking')
  await pause(pace.thinking_ms, signal)
  setState('answering')
  await canvas?.play?.(signal)
  for (const text of script.text ?? []) await writeText(answer, text, signal, pace.word_ms)
  for (const step of steps) await playStep(step, signal)
  return script.report === undefined ? answer : writeReport(element, script.report, signal, pace.word_ms)
}

function showState(element: HTMLElement, status: HTMLElement, state: State, surface: DemoProduct): void {
  const { icon: name, text } = surface.states[state] ?? {}
  element.dataset.state = state
  if (name === 'dots') status.replaceChildren(html`<span class="dots"></span>`, unseen(`${text}`))
  else status.replaceChildren(name ? icon(name) : '', text ?? '')
}

function measureRoom({ clientWidth, clientHeight }: HTMLElement, slot: DemoProduct['slot'], format: string) {
  const { position, share, max_height, banner_max_height = max_height } = slot
  const isWide = clientWidth >= widePx
  const maxHeight = format === 'banner' ? banner_max_height : max_height
  const room = Math.round(clientHeight * share)
  return { isWide, max_height: isWide && position === 'sidebar' ? maxHeight : Math.min(maxHeight, room) }
}

/** Writes a paragraph above the steps, or an item of a list, which continues an existing list. */
async function writeText(home: HTMLElement, text: string, signal: AbortSignal, word_ms: number): Promise<void> {
  const steps = home.querySelector(':scope > .steps')
  if (!text.startsWith('- ')) return write(home.insertBefore(html`<p></p>`, steps), text, signal, word_ms)
  const list = home.lastElementChild?.matches('ul') ? home.lastElementChild : home.appendChild(html`<ul></ul>`)
  return write(list.appendChild(html`<li></li>`), text.slice(2), signal, word_ms)
}

async function writeReport(
  turn: HTMLElement,
  { title, summary, table, conclusion }: NonNullable<Answer['report']>,
  signal: AbortSignal,
  word_ms: number,
): Promise<HTMLElement> {
  const report = html`<section class="report box" aria-label="Report"><h4>${title}</h4></section>`
  turn.append(report)
  await writeText(report, summary, signal, word_ms)
  const [heads = [], ...rows] = table
  const body = html`<tbody></tbody>`
  report.append(html`
    <table><thead><tr>${heads.map((head) => html`<th scope="col" class="faint">${head}</th>`)}</tr></thead>${body}</table>`)
  for (const cells of rows) {
    body.append(html`<tr class="arriving">${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)
    await pause(160, signal)
  }
  await writeText(report, conclusion, signal, word_ms)
  return report
}

function createStep({ icon: name, tool, input }: Step): HTMLElement {
  return html`
    <li class="step" data-state="waiting">
      <span class="mark">${icon('check')}</span>
      <b class="tool bar">${icon(name)}<code>${tool}</code></b>
      <span class="faint clipped">${input}</span>
      <span class="output soft"></span>
    </li>`
}

async function playStep(
  { element, output, takes_ms }: Step & { element: HTMLElement },
  signal: AbortSignal,
): Promise<void> {
  const place = find(element, '.output')
  element.dataset.state = 'running'
  place.replaceChildren(unseen('running'))
  await pause(takes_ms, signal)
  place.textContent = output
  element.dataset.state = 'done'
}

/** Prompts as chips, free input, and one button that asks or stops. */
function createComposer(job_type: JobType, surface: DemoProduct, { ask, again, stop }: ProductActions) {
  const { placeholder, prompts } = surface
  const element = html`
    <div class="composer">
      <div class="bar">
        <ul class="prompts bar grow" aria-label="Prompts"></ul>
        <button type="button" class="small label quiet bar">${icon('again')}Again</button>
      </div>
      <form class="bar">
        <label class="unseen" for="ask-${job_type}">${placeholder}</label>
        <textarea id="ask-${job_type}" class="grow" rows="1" placeholder="${placeholder}" maxlength="2000" dir="auto"></textarea>
        <button type="submit" class="send bar"></button>
      </form>
    </div>`
  const input = find<HTMLTextAreaElement>(element, 'textarea')
  let isRunning = false

  const showButton = () => {
    const isStop = isRunning && input.value.trim() === ''
    find(element, '.send').replaceChildren(icon(isStop ? 'stop' : 'send'), isStop ? 'Stop' : surface.ask)
  }
  const submit = (event: Event) => {
    event.preventDefault()
    const text = input.value.trim()
    if (text === '') return isRunning ? stop() : input.focus()
    input.value = ''
    showButton()
    ask({ label: text, text })
  }
  for (const prompt of prompts) {
    const chip = html`<button type="button" class="prompt label" dir="auto">${prompt.label}</button>`
    chip.addEventListener('click', () => ask(prompt))
    find(element, '.prompts').append(html`<li>${chip}</li>`)
  }
  find(element, '.quiet').addEventListener('click', again)
  find(element, 'form').addEventListener('submit', submit)
  input.addEventListener('input', showButton)
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event)
  })
  showButton()
  return {
    element,
    setRunning(running: boolean): void {
      isRunning = running
      showButton()
    },
  }
}

interface Slot {
  readonly element: HTMLElement
  /** The empty element that the renderer fills. */
  readonly target: HTMLElement
  /** Opens when the turn's ad has rendered. */
  follow(turn: Pick<Turn, 'on'>): void
  /** Width for a creative, CSS pixels. */
  readonly width: number
}

/** Visible height while the frame loads: the label and a little of the frame. CSS pixels. */
const stripPx = 44

/**
 * Returns a place for an ad that takes no room while it is empty and opens and closes smoothly.
 *
 * While the frame loads, only a strip of it is visible, because a native frame reports its height once it is laid out.
 * It must not be hidden completely: browsers do not paint invisible frames, so it would never report that it is
 * painted.
 */
function createSlot(name: string): Slot {
  const target = html`<div class="slot-target"></div>`
  const inner = html`<div class="slot-inner">${target}</div>`
  const element = html`<aside class="slot" data-slot="${name}" aria-label="Sponsored">${inner}</aside>`
  let isOpen = false
  const resize = () => {
    const isEmpty = target.childElementCount === 0
    isOpen &&= !isEmpty
    element.toggleAttribute('data-filled', !isEmpty)
    element.toggleAttribute('data-loading', !isEmpty && !isOpen)
    const height = isEmpty ? 0 : isOpen ? inner.offsetHeight : Math.min(stripPx, inner.offsetHeight)
    element.style.setProperty('height', `${height}px`)
  }
  new ResizeObserver(resize).observe(inner)
  new MutationObserver(resize).observe(target, { childList: true })
  return {
    element,
    target,
    follow(turn) {
      const off = turn.on('*', ({ type }) => {
        if (type === 'rendered') isOpen = true
        if (type === 'rendered' || type === 'cleared') resize()
        if (type === 'cleared') off()
      })
    },
    get width() {
      return element.isConnected ? Math.floor(element.getBoundingClientRect().width) : 0
    },
  }
}
