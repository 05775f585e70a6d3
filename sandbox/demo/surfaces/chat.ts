/** A chat. The slot follows the answer, so that an ad that comes or goes never moves a line that is being read. */
import { el, unseen } from '../elements.ts'
import { pause, write } from '../pace.ts'
import { createSlot } from '../slot.ts'
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
  slot: { position: 'inline', max_height: 400, timing: 'during' },
  template: 'list_item',
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
      const words = el('div', { class: 'words', dir: 'auto' })
      const typing = el('div', { class: 'typing' }, el('i'), el('i'), el('i'), unseen('Quillmoor is writing'))
      const reply = el('article', { class: 'message reply', 'aria-busy': 'true' }, unseen('Quillmoor: '), typing, words)
      const question = el('article', { class: 'message question', dir: 'auto' }, unseen('You: '), prompt.text)
      last = el('section', { class: 'exchange' }, question, reply, slot.element)
      thread.append(last)
      return {
        slot,
        async answer(signal) {
          try {
            await pause(700, signal)
            typing.remove()
            for (const block of answerTo(prompt)) await writeBlock(words, block, signal)
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
  if ('p' in block) return write(home.appendChild(el('p', { dir: 'auto' })), block.p, signal)
  if ('code' in block) return write(home.appendChild(el('pre')), block.code, signal)
  const list = home.appendChild(el('ul', { dir: 'auto' }))
  for (const item of block.list) await write(list.appendChild(el('li')), item, signal)
}

/** Keeps the newest line in view, unless the reader has scrolled away from it. */
function stickToEnd(scroller: HTMLElement, content: HTMLElement): void {
  let isAtEnd = true
  scroller.addEventListener('scroll', () => {
    isAtEnd = scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 40
  })
  const follow = () => {
    if (isAtEnd) scroller.scrollTop = scroller.scrollHeight
  }
  const sizes = new ResizeObserver(follow)
  sizes.observe(content)
  sizes.observe(scroller)
}
