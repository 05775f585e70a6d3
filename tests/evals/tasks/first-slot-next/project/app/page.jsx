import { useState } from 'react'

export default function Page() {
  const [turns, setTurns] = useState([])

  async function ask(event) {
    event.preventDefault()
    const { question, ads } = event.currentTarget.elements
    const turn = { id: crypto.randomUUID(), wantsAd: ads.checked }
    const response = await fetch('/api/chat', { method: 'POST', body: JSON.stringify({ question: question.value }) })
    const { answer } = await response.json()
    setTurns((before) => [{ ...turn, answer }, ...before])
  }

  return (
    <>
      <form id="composer" onSubmit={ask}>
        <label>
          <input id="ads" type="checkbox" /> Show me sponsored suggestions
        </label>
        <label>
          Question <input id="question" />
        </label>
        <button type="submit">Send</button>
      </form>
      <main>
        {turns.map(({ id, answer }) => (
          <article key={id}>
            <p>{answer}</p>
          </article>
        ))}
      </main>
    </>
  )
}
