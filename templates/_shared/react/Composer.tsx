import { type FormEvent, useState } from 'react'

/** The question field; while an answer is streaming, its stop button. */
export function Composer(props: { isRunning: boolean; onAsk: (question: string) => void; onStop: () => void }) {
  const { isRunning, onAsk, onStop } = props
  const [text, setText] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isRunning) return onStop()
    const question = text.trim()
    setText('')
    if (question !== '') onAsk(question)
  }
  return (
    <form className="composer" onSubmit={submit}>
      <label className="unseen" htmlFor="question">
        Your question
      </label>
      <input
        id="question"
        value={text}
        onChange={(event) => setText(event.target.value)}
        autoComplete="off"
        maxLength={2000}
        placeholder="Ask anything"
      />
      <button className="primary" type="submit">
        {isRunning ? 'Stop' : 'Send'}
      </button>
    </form>
  )
}
