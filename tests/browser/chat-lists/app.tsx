/** The page of a recipe: 40 messages, of which the last is new. What shows them is the code of the guide. */
import { drawMessages } from 'guide:plain.ts'
import { Messages as VirtualMessages } from 'guide:react-virtual.tsx'
import { Messages as VirtuosoMessages } from 'guide:react-virtuoso.tsx'
import { Messages as WindowMessages } from 'guide:react-window.tsx'
import { setConsent } from 'guide:sponsored.ts'
import { drawAnswer, streamAnswer } from 'guide:streamed.ts'
import { Chat } from 'guide:use-chat.tsx'
import { type ReactNode, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

const list = document.querySelector<HTMLElement>('#list')!
const messages = Array.from({ length: 40 }, (_, at) => ({
  id: `message-${at + 1}`,
  text: `Message ${at + 1}: how do I make better espresso at home?`,
  isNew: at === 39,
}))
/** The stored part of a chat in which the question and the answer are the last two. */
const stored = messages.slice(0, 38).map(({ id, text }, at) => ({
  id,
  role: at % 2 === 0 ? 'user' : 'assistant',
  parts: [{ type: 'text', text }],
}))

function show(app: ReactNode): void {
  list.remove()
  createRoot(document.querySelector('#root')!).render(<StrictMode>{app}</StrictMode>)
}

async function* readAnswer(): AsyncGenerator<string> {
  const { body } = await fetch('/api/answer')
  for await (const token of body!.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) yield token
}

const recipes: Readonly<Record<string, () => void>> = {
  plain: () => drawMessages(list, messages),
  streamed: () => {
    messages[39]!.text = ''
    drawMessages(list, messages, drawAnswer)
    list.scrollTop = list.scrollHeight
    void streamAnswer(list.lastElementChild, messages[39], readAnswer())
  },
  'react-window': () => show(<WindowMessages messages={messages} />),
  'react-virtuoso': () => show(<VirtuosoMessages messages={messages} />),
  'react-virtual': () => show(<VirtualMessages messages={messages} />),
  'use-chat': () => show(<Chat stored={stored} />),
}

if (location.hash !== '#denied') setConsent({ semantic_targeting: true, prompt_shared: false })
recipes[location.pathname.slice(1)]!()
