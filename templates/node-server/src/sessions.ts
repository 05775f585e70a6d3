/** The user: a random session in a cookie, and the consent of that session. Kept in memory. */
import { randomUUID } from 'node:crypto'
import type { Request, Response } from 'express'

/** The fields of the service's consent snapshot that are used here. */
export interface Consent {
  lifecycle_state: string
  expires_at_ms: number
  purposes: { semantic_targeting: boolean; prompt_shared: boolean }
}

export interface Session {
  id: string
  /** Null: nothing is known, so nothing is permitted. */
  consent: Consent | null
  /** Slots requested in this session; nobody else may poll them. */
  slot_ids: Set<string>
}

export type Sessions = (request: Request, response: Response) => Session

const cookie = 'session'
const most = 10_000

/** Finds the session of a request, or creates one. In production, use your own session store. */
export function createSessions(): Sessions {
  const sessions = new Map<string, Session>()
  return (request, response) => {
    const known = sessions.get(/(?:^|;\s*)session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '')
    if (known !== undefined) return known
    const session: Session = { id: randomUUID(), consent: null, slot_ids: new Set() }
    sessions.set(session.id, session)
    if (sessions.size > most) sessions.delete(sessions.keys().next().value as string)
    response.cookie(cookie, session.id, { httpOnly: true, sameSite: 'lax', secure: request.secure })
    return session
  }
}

/** The consent of a session while it is granted and has not expired; null otherwise, in which case nothing is requested. */
export function grantedConsent({ consent }: Session, now: number): Consent | null {
  if (consent === null || consent.lifecycle_state !== 'granted') return null
  return consent.expires_at_ms > now ? consent : null
}
