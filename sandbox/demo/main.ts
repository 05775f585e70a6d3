/** The demo host: five small products, the controls, and the timeline, put together. */
import type { JobType } from '../../src/contract/fields.ts'
import type { PlacementResponse } from '../../src/contract/v1/placements.ts'
import { type Choices, readChoices, writeChoices } from './choices.ts'
import { createComposer } from './composer.ts'
import { createConsentKeeper } from './consent.ts'
import { createControls } from './controls.ts'
import { el } from './elements.ts'
import { clearSlot, withSponsoredTurn } from './host.ts'
import { icon } from './icons.ts'
import { readPageSettings } from './page-settings.ts'
import { createShell } from './shell.ts'
import { surfaces } from './surfaces/index.ts'
import { type Prompt, type Surface, type SurfaceKind, type TurnScene, wide_px } from './surfaces/surface.ts'
import { shortState } from './timeline/journey.ts'
import { openRecorder } from './timeline/record.ts'
import { createAccounts, readMeanings } from './timeline/sandbox-account.ts'
import { openSandboxFeed } from './timeline/sandbox-feed.ts'
import { createTimeline } from './timeline/timeline.ts'

/** A product that has been opened, and its last turn. */
interface Product {
  element: HTMLElement
  /** Tells readers of screens of an answer once it is whole, not word by word. */
  news: HTMLElement
  surface: Surface
  prompt: Prompt
  scene: TurnScene | null
  running: AbortController | null
  setRunning(running: boolean): void
}

const page = readPageSettings()
let choices = readChoices(location.search)
let turns = 0

const consent = createConsentKeeper(page.token, (note) => recorder.note({ type: 'consent', ...note }))
const timeline = createTimeline(() => consent.session_id)
const recorder = openRecorder((turn) => {
  const isNewest = turn === recorder.turns[0]
  timeline.show(turn, isNewest)
  if (isNewest) shell.setState(shortState(turn))
})
const controls = createControls((name, value) => {
  choose({ [name]: value })
  const product = products.get(choices.surface)
  if (name !== 'keep' && product !== undefined) void run(product, product.prompt, true)
}, withdraw)
const shell = createShell(
  controls.element,
  timeline.element,
  choose,
  () => `${location.origin}${location.pathname}${writeChoices(choices)}`,
)
const products = new Map<JobType, Product>()
const lookAt = createAccounts((slot_id) => recorder.turns.some((turn) => turn.slot_id === slot_id), recorder.setDetail)

window.SponsoredPlacement?.on('*', recorder.hearPage)
openSandboxFeed(
  page.client_id,
  page.since_seq,
  (event, at) => {
    recorder.hearSandbox(event, at)
    if (event.slot_id !== null) lookAt(event.slot_id)
  },
  timeline.setLive,
)
void readMeanings().then((meanings) => {
  timeline.setMeanings(meanings)
  for (const turn of recorder.turns) timeline.show(turn, false)
})
addEventListener('popstate', () => {
  choices = readChoices(location.search)
  show()
})
document.body.replaceChildren(shell.element)
show()

/** Takes over some choices, and says so in the address. */
function choose(some: Partial<Choices>): void {
  const before = choices.surface
  choices = { ...choices, ...some }
  const address = writeChoices(choices)
  if (choices.surface === before) history.replaceState(null, '', address === '' ? location.pathname : address)
  else history.pushState(null, '', address === '' ? location.pathname : address)
  show()
}

function show(): void {
  controls.show(choices)
  shell.show(choices)
  for (const [job_type, product] of products) {
    const isShown = job_type === choices.surface
    product.element.hidden = !isShown
    if (!isShown) leave(product)
  }
  if (!products.has(choices.surface)) open(choices.surface)
}

/** Builds a product when it is first looked at, and asks its first prompt. */
function open(job_type: JobType): void {
  const kind = surfaces[job_type]
  const body = el('div', { class: 'window-body' })
  const news = el('p', { class: 'unseen', role: 'status' })
  const composer = createComposer(
    kind,
    (prompt) => void run(product, prompt, false),
    () => product.running?.abort(),
    () => void run(product, product.prompt, true),
  )
  const element = el(
    'section',
    { class: 'window', 'data-surface': job_type, 'aria-label': `${kind.product}, ${kind.name}` },
    el(
      'header',
      { class: 'window-bar' },
      el('span', { class: 'logo' }, icon(kind.icon)),
      el('h1', {}, kind.product),
      el('p', {}, kind.tagline),
    ),
    body,
    composer.element,
    news,
  )
  shell.stage.append(element)
  const product: Product = {
    element,
    news,
    surface: kind.open(body),
    prompt: kind.prompts[0] as Prompt,
    scene: null,
    running: null,
    setRunning: composer.setRunning,
  }
  products.set(job_type, product)
  void run(product, product.prompt, false)
}

/** One turn: the product answers, and a placement is asked for meanwhile. */
async function run(product: Product, prompt: Prompt, isAgain: boolean): Promise<void> {
  const job_type = choices.surface
  const kind = surfaces[job_type]
  leave(product)
  const controller = new AbortController()
  product.running = controller
  product.prompt = prompt
  product.setRunning(true)
  turns += 1
  const id = `turn-${turns}`
  const scene = product.surface.begin(prompt, isAgain && product.scene !== null)
  product.scene = scene
  if (choices.consent === 'unasked') await consent.settle('unasked')
  recorder.begin({ id, job_type, text: prompt.text, choices }, consent.session_id)
  await consent.settle(choices.consent)
  if (controller.signal.aborted) return
  const { position, timing } = kind.slot
  const { isWide, max_height } = roomFor(kind, product)
  try {
    await withSponsoredTurn(
      {
        id,
        target: scene.slot.target,
        session_id: consent.session_id,
        job_type,
        prompt: prompt.topic === undefined ? { text: prompt.text } : { topic: prompt.topic },
        timing,
        slot_hint: { position, max_width: Math.max(1, scene.slot.width), max_height },
        template: isWide ? kind.template.wide : kind.template.narrow,
        choices,
        signal: controller.signal,
      },
      page,
      async () => {
        product.news.textContent = ''
        product.news.textContent = await scene.answer(controller.signal)
      },
      (turn) => {
        scene.slot.follow(turn)
        void turn.decision.then((response) => {
          const slot_id = (response as PlacementResponse | null)?.slot_id
          if (slot_id !== undefined) recorder.bind(id, slot_id)
        })
      },
    )
  } catch (problem) {
    if (!controller.signal.aborted) throw problem
  } finally {
    if (product.running === controller) {
      product.running = null
      product.setRunning(false)
    }
  }
}

/** How high an ad may be: a slot below or between the content must leave room for it. CSS pixels. */
function roomFor({ slot }: SurfaceKind, { element }: Product): { isWide: boolean; max_height: number } {
  const isWide = element.clientWidth >= wide_px
  const most = (choices.format === 'banner' ? slot.banner_max_height : undefined) ?? slot.max_height
  const room = Math.round(element.clientHeight * slot.share)
  return { isWide, max_height: isWide && slot.position === 'sidebar' ? most : Math.min(most, room) }
}

/** Ends what runs and takes the ad down: the user asks something else, or has gone elsewhere. */
function leave(product: Product): void {
  product.running?.abort()
  if (product.scene !== null) clearSlot(product.scene.slot.target)
}

/** In mid-turn: the ad comes down at once, then the withdrawal is stored. The product goes on. */
async function withdraw(): Promise<void> {
  const scene = products.get(choices.surface)?.scene
  if (scene) clearSlot(scene.slot.target)
  choose({ consent: 'withdrawn' })
  await consent.settle('withdrawn')
}
