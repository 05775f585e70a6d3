/** The page of the recipe for assistant-ui: 38 stored messages, a question and a streamed answer. */
import { Thread } from 'guide:assistant-ui.tsx'
import { setConsent } from 'guide:sponsored.ts'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

const stored = Array.from({ length: 38 }, (_, at) => ({
  id: `message-${at + 1}`,
  role: at % 2 === 0 ? 'user' : 'assistant',
  content: [{ type: 'text', text: `Message ${at + 1}: how do I make better espresso at home?` }],
}))

/** Streams what the server of the page answers. */
const model = {
  async *run({ abortSignal }: { abortSignal: AbortSignal }) {
    const { body } = await fetch('/api/answer', { signal: abortSignal })
    let text = ''
    for await (const token of body!.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
      text += token
      yield { content: [{ type: 'text', text }] }
    }
  },
}

setConsent({ semantic_targeting: true, prompt_shared: false })
document.querySelector('#list')!.remove()
createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <Thread model={model} stored={stored} />
  </StrictMode>,
)
