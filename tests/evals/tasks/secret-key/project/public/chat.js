const at = (id) => document.getElementById(id)
const config = fetch('/api/config').then((response) => response.json())
let script = null

at('composer').onsubmit = async (event) => {
  event.preventDefault()
  const turn = document.createElement('article')
  const slot = document.createElement('div')
  at('thread').prepend(turn)
  const { answer } = await post('/api/chat', { question: at('question').value })
  turn.append(Object.assign(document.createElement('p'), { textContent: answer }), slot)
  if (at('ads').checked) void sponsor(slot).catch((problem) => console.info('no ad:', problem))
}

async function sponsor(target) {
  const { base_url, client_id, key, session_id } = await config
  script ??= load(`${base_url}/v1/render.js`)
  const renderer = await script
  const consent = { semantic_targeting: false, prompt_shared: false }
  const request = { client_id, session_id, job_type: 'chat', consent }
  const response = await post(`${base_url}/v1/placements`, request, { authorization: `Bearer ${key}` })
  renderer.renderPlacement({ target, response })
}

async function load(src) {
  const element = Object.assign(document.createElement('script'), { src })
  const loaded = new Promise((resolve) => {
    element.onload = () => resolve(window.SponsoredPlacement)
  })
  document.head.append(element)
  return loaded
}

async function post(path, body, more = {}) {
  const headers = { 'content-type': 'application/json', ...more }
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  return response.json()
}
