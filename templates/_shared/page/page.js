/** A turn: the work and its sponsored slot in parallel. Whatever happens to the slot, the work goes on. */
const consent = document.querySelector('#consent')
const form = document.querySelector('#turn')
const answer = document.querySelector('#answer')

const { script_url, job_types } = await (await fetch('/api/config')).json()
form.job_type.append(...job_types.map((job_type) => new Option(job_type)))
let allowed = false

consent.addEventListener('click', async ({ target }) => {
  if (target.type !== 'button') return
  const boxes = [...consent.querySelectorAll('input')].map(({ name, checked }) => [name, checked])
  allowed = false
  const stored = await post('/api/consent', { decision: target.value, ...Object.fromEntries(boxes) })
  allowed = stored?.authoritative_consent?.lifecycle_state === 'granted'
  if (!allowed) window.SponsoredPlacement.queue.push((api) => api.clearPlacement({ target: '#sponsored' }))
  consent.querySelector('output').textContent = allowed
    ? 'Allowed. Your answer is known to the service.'
    : stored === null
      ? 'Your answer could not be stored, so nothing is requested.'
      : 'Nothing is requested.'
})

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const { job_type, text } = Object.fromEntries(new FormData(form))
  const body = { job_type, prompt: { topic: 'coffee', text } }
  answer.textContent = await withSlot(body, () => work(job_type))
})

/** Runs `work` at once, with a sponsored slot next to it; without consent only `work`. */
async function withSlot(body, work) {
  if (!allowed) return work()
  loadRenderer()
  return window.SponsoredPlacement.withTurn(
    { target: '#sponsored', endpoint: '/api/placement', body, keepMounted: true },
    work,
  )
}

let script
/** Loads render.js, after consent. Blocked or late, it keeps no turn waiting: the stub of the page runs the work. */
function loadRenderer() {
  script ??= Object.assign(document.createElement('script'), { src: script_url, async: true })
  if (!script.isConnected) document.head.append(script)
}

/** Your product. */
async function work(job_type) {
  await new Promise((done) => setTimeout(done, 1_200))
  return `The ${job_type} work is done.`
}

async function post(path, body) {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.ok ? await response.json() : null
  } catch {
    return null
  }
}
