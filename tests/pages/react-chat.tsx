/** A chat in React as integrators write it: every message has a slot and a turn. It is built into a test's page. */
import { StrictMode, useEffect, useRef } from 'react'
import { createRoot } from 'react-dom/client'

export interface Chat {
  endpoint: string
  body: Record<string, unknown>
  isStrict: boolean
  /** What the effect does for its second run: ends its turn, names it, or both. */
  effect: 'cancels' | 'names' | 'cancels and names'
  messages: { id: string; text: string }[]
  /** Part of every slot's key. */
  version: number
}

declare global {
  interface Window {
    chat: {
      show(chat: Chat): void
      unmount(): void
      shown?: Chat
      /** Effects that ran. */
      effects: number
      /** Renderings of slots. */
      renderings: number
    }
  }
}

function Slot({ id, chat }: { id: string; chat: Chat }) {
  const slot = useRef<HTMLDivElement>(null)
  const { endpoint, effect } = chat
  const body = JSON.stringify(chat.body)
  window.chat.renderings += 1
  useEffect(() => {
    window.chat.effects += 1
    const turn = window.SponsoredPlacement!.startTurn({
      target: slot.current!,
      endpoint,
      body: JSON.parse(body),
      ...(effect !== 'cancels' && { turnId: id }),
    })
    return effect === 'names' ? undefined : () => turn.cancel()
  }, [id, endpoint, effect, body])
  return <div ref={slot} className="slot" data-message={id} />
}

function Messages({ chat }: { chat: Chat }) {
  return chat.messages.map(({ id, text }) => (
    <article key={id} style={{ display: 'inline-block', width: 240, verticalAlign: 'top' }}>
      <p style={{ height: 40, overflow: 'hidden', margin: 0 }}>{text}</p>
      <Slot key={chat.version} id={`${id}.${chat.version}`} chat={chat} />
    </article>
  ))
}

const root = createRoot(document.querySelector('#root')!)
window.chat = {
  show: (chat) => {
    window.chat.shown = chat
    const messages = <Messages chat={chat} />
    root.render(chat.isStrict ? <StrictMode>{messages}</StrictMode> : messages)
  },
  unmount: () => root.unmount(),
  effects: 0,
  renderings: 0,
}
