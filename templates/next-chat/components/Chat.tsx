'use client'

import { useRef, useState } from 'react'
import type { ConsentView } from '../lib/consent'
import { ideas } from '../lib/ideas'
import { Composer } from './Composer'
import { ConsentChoice } from './ConsentChoice'
import { SponsoredSlot } from './SponsoredSlot'
import { type ChatTurn, useChat } from './useChat'
import { useConsent } from './useConsent'
import { useStickToEnd } from './useStickToEnd'

/** `renderer_url` is null when the server has no placement service: then there is nothing to consent to. */
export function Chat(props: { consent: ConsentView | null; renderer_url: string | null }) {
  const { renderer_url } = props
  const consent = useConsent(props.consent)
  const { granted } = consent
  const { turns, isRunning, ask, stop } = useChat()
  const [isChoosing, setChoosing] = useState(renderer_url !== null && !consent.isAnswered)
  const thread = useRef<HTMLElement>(null)
  const column = useRef<HTMLDivElement>(null)
  const settings = useRef<HTMLButtonElement>(null)
  useStickToEnd(thread, column, turns.length)

  const askAbout = (question: string) => void ask(question, granted)
  const isSponsored = (turn: ChatTurn) => granted !== null && turn.consent?.decided_at_ms === granted.decided_at_ms
  const last = turns.at(-1)
  return (
    <>
      <header className="bar">
        <h1>Hazelby</h1>
        {renderer_url !== null && (
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
                {turn.state === 'failed' && 'The answer broke off. Please ask again.'}
              </p>
              {renderer_url !== null && isSponsored(turn) && <SponsoredSlot turn={turn} renderer_url={renderer_url} />}
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
