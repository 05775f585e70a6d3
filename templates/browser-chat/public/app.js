/** The chat: questions, streamed answers, and the consent choice. Everything about ads is in sponsored.js. */
import { grantedConsent, readConsent, writeConsent } from './consent.js'
import { answer, ideas } from './model.js'
import { clearSponsored, sponsorTurn, withdraw } from './sponsored.js'

const at = (id) => document.getElementById(id)
const thread = document.querySelector('.thread')
/** Aborts the answer that is being written. */
let running = null

for (const idea of ideas) {
  const button = element('button', '', idea)
  button.type = 'button'
  button.onclick = () => ask(idea)
  at('ideas').append(button)
}
at('composer').onsubmit = (event) => {
  event.preventDefault()
  if (running !== null) return running.abort()
  const question = at('question').value.trim()
  at('question').value = ''
  if (question !== '') void ask(question)
}
at('consent-state').onclick = () => showConsent(at('consent').hidden)
at('consent').onsubmit = (event) => {
  event.preventDefault()
  const before = grantedConsent()
  writeConsent(event.submitter.value, at('consent-share').checked)
  if (before !== null) void withdraw(before.session_id)
  showConsent(false)
  at('consent-state').focus()
}
// Another tab of this browser has answered: its answer applies here too.
window.onstorage = () => {
  clearSponsored()
  showConsent(readConsent() === null)
}
showConsent(readConsent() === null)

/** One turn. Its sponsored slot is below the answer, and takes no space while it is empty. */
async function ask(question) {
  running?.abort()
  const turn = new AbortController()
  running = turn
  at('welcome').hidden = true
  at('send').textContent = 'Stop'
  at('news').textContent = ''
  const reply = element('p', 'answer')
  reply.ariaBusy = 'true'
  const target = element('div', 'slot')
  const article = element('article', 'turn')
  article.append(element('p', 'question', question), reply, target)
  at('column').append(article)
  article.scrollIntoView({ block: 'end' })

  const sponsored = sponsorTurn({ target, question, signal: turn.signal })
  keepEndInView(article, turn.signal)
  for await (const text of answer(question, turn.signal)) reply.append(text)
  reply.ariaBusy = 'false'
  sponsored.finish()
  if (running !== turn) return
  running = null
  at('send').textContent = 'Send'
  at('news').textContent = reply.textContent
}

/** Scrolls along while the turn grows, unless the reader has scrolled away. */
function keepEndInView(article, signal) {
  let isAtEnd = true
  thread.onscroll = () => {
    isAtEnd = thread.scrollHeight - thread.scrollTop - thread.clientHeight < 80
  }
  const observer = new ResizeObserver(() => {
    if (!article.isConnected || article !== at('column').lastElementChild) return observer.disconnect()
    if (isAtEnd && !signal.aborted) thread.scrollTop = thread.scrollHeight
  })
  observer.observe(article)
}

/** Opens or closes the choice, and shows the current answer in the bar. */
function showConsent(isOpen) {
  const consent = grantedConsent()
  at('consent').hidden = !isOpen
  at('consent-share').checked = consent?.purposes.prompt_shared ?? false
  at('consent-state').ariaExpanded = String(isOpen)
  at('consent-state').textContent = `Sponsored: ${consent === null ? 'off' : 'on'}`
}

function element(name, className, text = '') {
  return Object.assign(document.createElement(name), { className, textContent: text })
}
