import { useState } from 'react'
import type { ConsentView } from '../lib/consent'
import { clearSponsored } from './sponsored'

export interface Consent {
  /** Null: no sponsored slots. */
  granted: ConsentView | null
  isAnswered: boolean
  /** Whether the server failed to store the last answer. Then nothing is granted. */
  hasFailed: boolean
  decide(decision: ConsentView['decision'], shares_questions: boolean): Promise<boolean>
}

/** The user's consent, as the server has stored it. */
export function useConsent(stored: ConsentView | null): Consent {
  const [consent, setConsent] = useState(stored)
  const [hasFailed, setFailed] = useState(false)
  return {
    granted: consent?.decision === 'granted' ? consent : null,
    isAnswered: consent !== null,
    hasFailed,
    async decide(decision, shares_questions) {
      setConsent(null)
      clearSponsored()
      const next = await store({ decision, shares_questions })
      setFailed(next === null)
      setConsent(next)
      return next !== null
    },
  }
}

async function store(answer: object): Promise<ConsentView | null> {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch('/api/consent', { method: 'POST', headers, body: JSON.stringify(answer) })
    return response.ok ? await response.json() : null
  } catch {
    return null
  }
}
