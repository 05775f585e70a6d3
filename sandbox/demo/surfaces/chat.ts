/** A chat. The slot follows the answer, so that an ad that comes or goes never moves a line that is being read. */
import { el, unseen } from '../elements.ts'
import { pause, write } from '../pace.ts'
import { createSlot } from '../slot.ts'
import { stickToEnd } from '../stick-to-end.ts'
import { type Block, chatFallback, chatPrompts } from './chat-script.ts'
import type { Prompt, Surface, SurfaceKind } from './surface.ts'

export const chat: SurfaceKind = {
  job_type: 'chat',
  icon: 'chat',
  name: 'Chat',
  product: 'Quillmoor',
  tagline: 'An assistant with patience',
  placeholder: 'Ask anything',
  ask: 'Send',
  prompts: chatPrompts,
  slot: { position: 'inline', timing: 'during', max_height: 400, banner_max_height: 100, share: 0.6 },
  template: { narrow: 'list_item', wide: 'list_item' },
  open,
}

function open(window: HTMLElement): Surface {
  const thread = el('div', { class: 'thread' })
  const scroller = el(
    'div',
    { class: 'chat scroller', tabindex: 0, role: 'region', 'aria-label': 'Conversation' },
    thread,
  )
  window.append(scroller)
  stickToEnd(scroller, thread)
  let last: HTMLElement | null = null

  return {
    begin(prompt, isAgain) {
      if (isAgain) last?.remove()
      const slot = createSlot('chat')
      const words = el('div', { class: 'words' })
      const typing = el('div', { class: 'typing' }, el('i'), el('i'), el('i'), unseen('Quillmoor is writing'))
      const reply = el('article', { class: 'message reply', 'aria-busy': 'true' }, unseen('Quillmoor: '), typing, words)
      const question = el('article', { class: 'message question', dir: 'auto' }, unseen('You: '), prompt.text)
      last = el('section', { class: 'exchange', dir: 'auto' }, question, reply, slot.element)
      thread.append(last)
      return {
        slot,
        async answer(signal) {
          try {
            await pause(700, signal)
            typing.remove()
            for (const block of answerTo(prompt)) await writeBlock(words, block, signal)
            return words.innerText
          } finally {
            typing.remove()
            reply.removeAttribute('aria-busy')
          }
        },
      }
    },
  }
}

function answerTo(prompt: Prompt): Block[] {
  return chatPrompts.find(({ text }) => text === prompt.text)?.answer ?? chatFallback
}

async function writeBlock(home: HTMLElement, block: Block, signal: AbortSignal): Promise<void> {
  if ('p' in block) return write(home.appendChild(el('p')), block.p, signal)
  if ('code' in block) return write(home.appendChild(el('pre')), block.code, signal)
  const list = home.appendChild(el('ul'))
  for (const item of block.list) await write(list.appendChild(el('li')), item, signal)
}
