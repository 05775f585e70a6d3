import { useRef, useState } from 'react'
import { Composer } from './Composer.tsx'
import { ConsentChoice } from './ConsentChoice.tsx'
import { ideas } from './model.ts'
import { SponsoredSlot } from './SponsoredSlot.tsx'
import { isConfigured } from './sponsored.ts'
import { useChat } from './useChat.ts'
import { useConsent } from './useConsent.ts'
import { useStickToEnd } from './useStickToEnd.ts'

export function App() {
  const consent = useConsent()
  const { granted } = consent
  const { turns, isRunning, ask, stop } = useChat()
  const [isChoosing, setChoosing] = useState(isConfigured && !consent.isAnswered)
  const thread = useRef<HTMLElement>(null)
  const column = useRef<HTMLDivElement>(null)
  const settings = useRef<HTMLButtonElement>(null)
  useStickToEnd(thread, column, turns.length)

  const askAbout = (question: string) => void ask(question, granted)
  const last = turns.at(-1)
  return (
    <>
      <header className="bar">
        <h1>Hazelby</h1>
        {isConfigured && (
          <button
            ref={settings}
            type="button"
            aria-controls="consent"
            aria-expanded={isChoosing}
            onClick={() => setChoosing(!isChoosing)}
          >
            Sponsored: {granted ? 'on' : 'off'}
          </button>
        )}
      </header>
      <main ref={thread} className="thread" aria-label="Conversation" tabIndex={0}>
        <div ref={column} className="column">
          {turns.length === 0 && <Welcome onAsk={askAbout} />}
          {turns.map((turn) => (
            <article key={turn.id} className="turn">
              <p className="question">{turn.question}</p>
              <p className="answer" aria-busy={turn.state === 'running'}>
                {turn.answer}
              </p>
              {granted && turn.consent?.session_id === granted.session_id && (
                <SponsoredSlot turn={turn} consent={turn.consent} />
              )}
            </article>
          ))}
        </div>
      </main>
      <footer className="dock">
        {isChoosing && (
          <ConsentChoice
            consent={consent}
            onDone={() => {
              setChoosing(false)
              settings.current?.focus()
            }}
          />
        )}
        <Composer isRunning={isRunning} onAsk={askAbout} onStop={stop} />
        <p className="unseen" role="status">
          {last?.state === 'done' && last.answer}
        </p>
      </footer>
    </>
  )
}

function Welcome({ onAsk }: { onAsk: (question: string) => void }) {
  return (
    <section className="welcome">
      <h2>What would you like to know?</h2>
      <p>Ask anything, or begin here.</p>
      <div className="ideas">
        {ideas.map((idea) => (
          <button key={idea} type="button" onClick={() => onAsk(idea)}>
            {idea}
          </button>
        ))}
      </div>
    </section>
  )
}
