import { useEffect, useState } from 'react'
import { type Answer, type GrantedConsent, grantOf, key, makeAnswer, readAnswer, storeAnswer } from './consent.ts'
import { withdraw } from './sponsored.ts'

export interface Consent {
  /** Null: no sponsored slots. */
  granted: GrantedConsent | null
  isAnswered: boolean
  decide(decision: Answer['decision'], sharesQuestions: boolean): void
}

/** The user's consent, the same in every tab of this browser. */
export function useConsent(): Consent {
  const [answer, setAnswer] = useState(readAnswer)

  useEffect(() => {
    const follow = (event: StorageEvent) => {
      if (event.key === key || event.key === null) setAnswer(readAnswer())
    }
    addEventListener('storage', follow)
    return () => removeEventListener('storage', follow)
  }, [])

  return {
    granted: grantOf(answer),
    isAnswered: answer !== null,
    decide(decision, sharesQuestions) {
      const before = grantOf(answer)
      const next = makeAnswer(decision, sharesQuestions)
      storeAnswer(next)
      setAnswer(next)
      if (before !== null) void withdraw(before.session_id)
    },
  }
}
