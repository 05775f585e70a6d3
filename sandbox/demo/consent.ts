/** The session of this page and what it has answered to the consent question. */
import type { ConsentStored } from '../../src/contract/v1/consent.ts'
import type { ConsentChoice } from './choices.ts'
import { type ConsentAnswer, storeConsent } from './host.ts'

export interface ConsentKeeper {
  readonly session_id: string
  /** Makes the stored consent what is chosen: before a turn, and at once for a withdrawal. */
  settle(choice: ConsentChoice): Promise<void>
}

/** `told` gets what was stored, or the problem body when it was not. */
export function createConsentKeeper(token: string, told: (note: Record<string, unknown>) => void): ConsentKeeper {
  let session_id = newSession()
  let stored: ConsentAnswer | null = null
  return {
    get session_id() {
      return session_id
    },
    async settle(choice) {
      if (choice === 'unasked') {
        if (stored !== null) session_id = newSession()
        stored = null
        return
      }
      if (choice === stored && choice !== 'expiring') return
      try {
        const response = await storeConsent(session_id, choice, token)
        if (!response.ok) return
        stored = choice
        const { consent_id, authoritative_consent } = (await response.json()) as ConsentStored
        const { lifecycle_state, ...snapshot } = authoritative_consent
        told({ consent_id, session_id, state: choice === 'expiring' ? 'expiring' : lifecycle_state, ...snapshot })
      } catch {
        // Not stored: the next turn tries again, and until then the service goes by what it has.
      }
    },
  }
}

function newSession(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6))
  return `demo-${Array.from(bytes, (byte) => byte.toString(36).padStart(2, '0')).join('')}`
}
