/** The demo host: five products, the controls and the timeline put together. */
import type { JobType } from '#contract/fields.ts'
import { isObject } from '#foundation/json.ts'
import type { Turn } from '#renderer/host/turn.ts'
import { createDetailReader, openFeed, readMeanings } from './feed.ts'
import { clearSlot, openSession, settings, withSponsoredTurn } from './host.ts'
import { listMilestones } from './milestones.ts'
import { createPage } from './page.ts'
import { createProduct, type Product } from './product.ts'
import { openRecorder } from './record.ts'
import { type Choices, type Prompt, readChoices, surfaces, writeChoices } from './surfaces.ts'
import { createTimeline } from './timeline.ts'

let choices = readChoices(location.search)
let turns = 0
/** Chosen in the controls; empty: the market decides. */
let force_campaign_id = ''
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
    force(campaign_id) {
      force_campaign_id = campaign_id
      const product = products.get(choices.surface)
      if (product !== undefined) void run(product, product.prompt, true)
    },
    withdraw,
    address: () => `${location.origin}${location.pathname}${writeChoices(choices)}`,
  },
  timeline.element,
  settings.campaigns,
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
    force_campaign_id,
    signal,
  }
  const onStart = (turn: Turn) => {
    slot.follow(turn)
    void turn.decision.then((response) => {
      if (isObject(response) && typeof response.slot_id === 'string') recorder.bind(id, response.slot_id)
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
