/** The demo host: its page, with the bar, the controls and, on phones, the views; then five products and the timeline put together. */
import type { JobType } from '#contract/fields.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { Turn } from '#renderer/host/turn.ts'
import { copyButton, find, html, icon, unseen } from './elements.ts'
import { clearSlot, openSession, settings, withSponsoredTurn } from './host.ts'
import { createProduct, type Product } from './product.ts'
import { createDetailReader, openFeed, openRecorder, readMeanings } from './record.ts'
import { type Choices, listOptions, options, type Prompt, readChoices, surfaces, writeChoices } from './surfaces.ts'
import { createTimeline, listMilestones } from './timeline.ts'

/** The choices with a row in the controls. */
const rows = {
  format: 'Format',
  template: 'Template',
  outcome: 'Decision',
  consent: 'Consent',
  tool: 'Consent tool',
  integration: 'Requested by',
  keep: 'After the turn',
} satisfies Partial<Record<keyof Choices, string>>

type ChoiceRow = keyof typeof rows

interface DemoPage {
  readonly stage: HTMLElement
  show(choices: Choices): void
  /** Shows the newest milestone on the timeline's tab. */
  setState(state: string): void
}

interface PageActions {
  choose(some: Partial<Choices>): void
  /** A control has been changed: the choice, and perhaps the turn again. */
  control(name: ChoiceRow, value: string): void
  withdraw(): void
  address(): string
}

function createPage({ choose, control, withdraw, address }: PageActions, timeline: HTMLElement): DemoPage {
  const stage = html`<main class="stage"></main>`
  const tabs = createTabs((surface) => choose({ surface }))
  const themes = segments('theme', (theme) => choose({ theme: theme as Choices['theme'] }))
  const controls = html`
    <section class="controls paper scroller" aria-label="Controls">
      <header class="dock-head"><h2>Controls</h2></header>
      ${(Object.keys(rows) as ChoiceRow[]).map((row) => {
        const choice = segments(row, (value) => control(row, value))
        return html`
          <fieldset class="choice" data-row="${row}" aria-describedby="hint-${row}">
            <legend class="soft">${rows[row]}</legend>
            ${choice}
            <div class="hint-line bar spread"><p class="hint faint" id="hint-${row}"></p></div>
          </fieldset>`
      })}
    </section>`
  const withdrawal = html<HTMLButtonElement>`<button type="button" class="small label bar">${icon('shield')}<span></span></button>`
  withdrawal.addEventListener('click', withdraw)
  find(controls, '[data-row=consent] .hint-line').append(withdrawal)

  const views = (['product', 'controls', 'timeline'] as const).map((view) => {
    const label = view[0]?.toUpperCase() + view.slice(1)
    const button = html`<button type="button" class="bar center soft label">${icon(view)}${label}</button>`
    button.addEventListener('click', () => showView(view))
    return { view, button }
  })
  const badge = html`<span class="chip" data-tone="good"></span>`
  views[2]?.button.append(badge)

  const app = html`
    <div class="app">
      <header class="top bar spread paper ruled-below">
        <a class="brand bar" href="/_sandbox/"><span class="logo">${icon('brand')}</span>svc<span class="faint">demo host</span></a>
        <nav class="surfaces bar" aria-label="Surfaces">${tabs.map(({ tab }) => tab)}</nav>
        <div class="tools bar">
          <fieldset class="themes"><legend class="unseen">Theme</legend>${themes}</fieldset>
          ${copyButton(address, 'Copy a link to this state', 'share')}
        </div>
      </header>
      ${stage}${controls}${timeline}
      <nav class="views paper ruled" aria-label="Views">${views.map(({ button }) => button)}</nav>
    </div>`
  document.body.append(app)
  showView('product')

  function showView(shown: string): void {
    app.dataset.view = shown
    for (const { view, button } of views) button.ariaPressed = String(view === shown)
  }

  return {
    stage,
    show(choices) {
      document.documentElement.dataset.theme = choices.theme
      document.title = `${options.surface[choices.surface].label} · Demo host`
      for (const { surface, tab } of tabs) {
        tab.href = writeChoices({ ...choices, surface }) || location.pathname
        if (surface === choices.surface) tab.setAttribute('aria-current', 'page')
        else tab.removeAttribute('aria-current')
      }
      for (const input of app.querySelectorAll<HTMLInputElement>('input[type=radio]')) {
        input.checked = choices[input.name as ChoiceRow] === input.value
      }
      for (const row of Object.keys(rows) as ChoiceRow[]) {
        const chosen = listOptions(row).find(({ value }) => value === choices[row])
        find(controls, `#hint-${row}`).textContent = chosen?.hint ?? ''
      }
      const { consent, format, integration } = choices
      find(controls, '[data-row=template]').hidden = format !== 'native'
      find<HTMLInputElement>(controls, '[value=slow]').disabled = integration === 'browser'
      withdrawal.disabled = consent !== 'granted' && consent !== 'expiring'
      find(withdrawal, 'span').textContent = consent === 'withdrawn' ? 'Withdrawn' : 'Withdraw now'
    },
    setState(state) {
      badge.textContent = state
    },
  }
}

function createTabs(choose: (surface: Choices['surface']) => void) {
  return listOptions('surface').map(({ value: surface, label }) => {
    const tab = html<HTMLAnchorElement>`<a class="bar center soft" href="">${icon(surface)}${label}</a>`
    tab.addEventListener('click', (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
      event.preventDefault()
      choose(surface)
    })
    return { surface, tab }
  })
}

/** Returns the values of a choice as a row of radio buttons. Themes are icons. */
function segments(name: ChoiceRow | 'theme', chosen: (value: string) => void): HTMLElement {
  const element = html`
    <div class="segments bar">
      ${listOptions(name).map(
        // Withdrawn is reached by the button or an address, so it has no segment.
        ({ value, label }) => html`
          <label class="segment label soft" ${value === 'withdrawn' && 'hidden'} title="${name === 'theme' && `${label} theme`}">
            <input type="radio" name="${name}" value="${value}">${name === 'theme' ? [icon(value as 'light'), unseen(label)] : label}
          </label>`,
      )}
    </div>`
  element.addEventListener('change', ({ target }) => chosen((target as HTMLInputElement).value))
  return element
}

let choices = readChoices(location.search)
let turns = 0
const products = new Map<JobType, Product>()
/** The turn of each product that is running. */
const running = new Map<Product, AbortController>()

const session = openSession((consent) => recorder.note({ type: 'consent', ...consent }))
const timeline = createTimeline(() => session.id)
const recorder = openRecorder((turn) => {
  const isNewest = turn === recorder.turns[0]
  timeline.show(turn, isNewest)
  if (isNewest) page.setState(listMilestones(turn).findLast(({ state }) => state !== 'ahead')?.name ?? '')
})
const page = createPage(
  {
    choose,
    control(name, value) {
      choose({ [name]: value })
      const product = products.get(choices.surface)
      if (name !== 'keep' && product !== undefined) void run(product, product.prompt, true)
    },
    withdraw,
    address: () => `${location.origin}${location.pathname}${writeChoices(choices)}`,
  },
  timeline.element,
)

window.SponsoredPlacement?.on('*', recorder.onPageEvent)
const readDetail = createDetailReader(
  (slot_id) => recorder.turns.some((turn) => turn.slot_id === slot_id),
  recorder.setDetail,
)
void openFeed({
  ...settings,
  onEvent(event) {
    recorder.onSandboxEvent(event, performance.now())
    if (event.slot_id !== null) readDetail(event.slot_id)
  },
  onLive: timeline.setLive,
})
void readMeanings().then((meanings) => {
  timeline.setMeanings(meanings)
  for (const turn of recorder.turns) timeline.show(turn, false)
})
addEventListener('popstate', () => {
  choices = readChoices(location.search)
  show()
})
show()

/** Switching the surface is a step in the history; other choices are not. */
function choose(some: Partial<Choices>): void {
  const address = (change: Choices) => writeChoices(change) || location.pathname
  const isStep = some.surface !== undefined && some.surface !== choices.surface
  choices = { ...choices, ...some }
  if (choices.integration === 'browser' && choices.outcome === 'slow') choices.outcome = 'fill'
  history[isStep ? 'pushState' : 'replaceState'](null, '', address(choices))
  show()
}

function show(): void {
  page.show(choices)
  for (const [job_type, product] of products) {
    product.element.hidden = job_type !== choices.surface
    if (product.element.hidden) leave(product)
  }
  if (!products.has(choices.surface)) open(choices.surface)
}

/** Builds a product when it is first shown, and asks its first prompt. */
function open(job_type: JobType): void {
  const product = createProduct(job_type, {
    ask: (prompt) => void run(product, prompt, false),
    again: () => void run(product, product.prompt, true),
    stop: () => running.get(product)?.abort(),
  })
  page.stage.append(product.element)
  products.set(job_type, product)
  void run(product, product.prompt, false)
}

/** One turn: the product answers while a placement is requested. */
async function run(product: Product, prompt: Prompt, isAgain: boolean): Promise<void> {
  const job_type = choices.surface
  leave(product)
  const controller = new AbortController()
  const { signal } = controller
  running.set(product, controller)
  product.setRunning(true)
  product.prompt = prompt
  const work = product.begin(prompt, isAgain)
  const { slot } = product
  const { isWide, max_height } = product.measure(choices.format)
  const { template, slot: plan } = surfaces[job_type]
  turns += 1
  const id = `turn-${turns}`
  const { text, topic } = prompt
  // A new session must exist before the turn is recorded under it.
  if (choices.consent === 'unasked') await session.setConsent('unasked', choices.tool)
  recorder.start({ id, job_type, text, choices }, session.id)
  const mayAsk = await session.setConsent(choices.consent, choices.tool)
  if (signal.aborted) return
  const sponsored = {
    id,
    target: slot.target,
    session_id: session.id,
    job_type,
    prompt: topic === undefined ? { text } : { topic },
    slot_hint: { position: plan.position, max_width: Math.max(1, slot.width), max_height },
    template: isWide ? template.wide : template.narrow,
    choices,
    signal,
  }
  const onStart = (turn: Turn) => {
    slot.follow(turn)
    void turn.decision.then((response) => {
      const slot_id = (response as PlacementResponse | null)?.slot_id
      if (slot_id !== undefined) recorder.bind(id, slot_id)
    })
  }
  try {
    if (mayAsk) await withSponsoredTurn(sponsored, () => work(signal), onStart)
    else await work(signal)
  } catch (problem) {
    if (!signal.aborted) throw problem
  } finally {
    if (running.get(product) === controller) {
      running.delete(product)
      product.setRunning(false)
    }
  }
}

/** Stops the turn and clears the ad: the user asks something else or has left the product. */
function leave(product: Product): void {
  running.get(product)?.abort()
  clearSlot(product.slot.target)
}

/** In mid-turn: the ad is cleared at once, then the withdrawal is stored. The product goes on. */
async function withdraw(): Promise<void> {
  const product = products.get(choices.surface)
  if (product !== undefined) clearSlot(product.slot.target)
  choose({ consent: 'withdrawn' })
  await session.setConsent('withdrawn', choices.tool)
}
