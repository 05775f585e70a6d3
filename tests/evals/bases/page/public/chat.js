const at = (id) => document.getElementById(id)

at('composer').onsubmit = async (event) => {
  event.preventDefault()
  const turn = document.createElement('article')
  at('thread').prepend(turn)
  const { answer } = await post('/api/chat', { question: at('question').value })
  turn.append(Object.assign(document.createElement('p'), { textContent: answer }))
}

async function post(path, body) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  return response.json()
}
