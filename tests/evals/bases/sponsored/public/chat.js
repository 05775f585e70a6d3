const at = (id) => document.getElementById(id)
let script = null

at('composer').onsubmit = async (event) => {
  event.preventDefault()
  const turn = document.createElement('article')
  const slot = document.createElement('div')
  at('thread').prepend(turn)
  const sponsored = at('ads').checked ? sponsor(slot) : null
  const { answer } = await post('/api/chat', { question: at('question').value })
  turn.append(Object.assign(document.createElement('p'), { textContent: answer }), slot)
  void sponsored?.then((started) => started?.finish())
}

/** Starts the turn of an ad. The chat goes on without one when that fails. */
async function sponsor(target) {
  try {
    script ??= load()
    const renderer = await script
    const body = { ads: true, share: at('share').checked }
    return renderer.startTurn({ target, endpoint: '/api/placement', body, keepMounted: true })
  } catch (problem) {
    console.info('no ad:', problem)
    return null
  }
}

async function load() {
  const { script_url } = await (await fetch('/api/config')).json()
  const element = Object.assign(document.createElement('script'), { src: script_url })
  const loaded = new Promise((resolve, reject) => {
    element.onload = () => resolve(window.SponsoredPlacement)
    element.onerror = () => reject(new Error('render.js could not be loaded'))
  })
  document.head.append(element)
  return loaded
}

async function post(path, body) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  return response.json()
}
