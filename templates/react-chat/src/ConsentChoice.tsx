import { useState } from 'react'
import type { Consent } from './useConsent.ts'

/** The consent question. Both answers are equally prominent, and nothing is preselected. */
export function ConsentChoice({ consent, onDone }: { consent: Consent; onDone: () => void }) {
  const [shares, setShares] = useState(consent.granted?.purposes.prompt_shared ?? false)
  const decide = (decision: 'granted' | 'denied') => {
    consent.decide(decision, shares)
    onDone()
  }
  return (
    <section id="consent" className="consent" aria-labelledby="consent-title">
      <h2 id="consent-title">May we show sponsored suggestions?</h2>
      <p>
        They keep Hazelby free, are always labelled, and never change an answer. Until you agree, none is asked for.
      </p>
      <label>
        <input type="checkbox" checked={shares} onChange={(event) => setShares(event.target.checked)} />
        <span>Choose them by what I ask: my questions are shared with the placement service.</span>
      </label>
      <div className="choices">
        <button type="button" onClick={() => decide('granted')}>
          Allow
        </button>
        <button type="button" onClick={() => decide('denied')}>
          No, thanks
        </button>
      </div>
    </section>
  )
}
