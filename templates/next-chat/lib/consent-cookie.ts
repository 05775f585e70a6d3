/**
 * What the user answered to "may we show sponsored suggestions?", in a cookie that only this server reads.
 *
 * It fails closed. No cookie, one that cannot be read, and one that has expired are all no consent. The session id, by
 * which the service recognizes this user, is created by a grant and deleted with it: before, nothing personal exists.
 */
import 'server-only'
import { cookies, headers } from 'next/headers'
import type { ConsentView } from './consent'

export interface StoredConsent extends ConsentView {
  expires_at_ms: number
  /** Of a grant; null of a denial. */
  session_id: string | null
}

export interface GrantedConsent extends StoredConsent {
  session_id: string
}

const name = 'hazelby_consent'
const lifetime_ms = 180 * 24 * 60 * 60 * 1000

/** The answer that holds, or null if the user must be asked. */
export async function readConsent(): Promise<StoredConsent | null> {
  const consent = parse((await cookies()).get(name)?.value)
  const isAnswer = consent?.decision === 'granted' || consent?.decision === 'denied'
  return isAnswer && consent.expires_at_ms > Date.now() ? consent : null
}

/** The answer, if it permits sponsored suggestions now. */
export async function grantedConsent(): Promise<GrantedConsent | null> {
  const consent = await readConsent()
  const { session_id, decision } = consent ?? {}
  return consent && decision === 'granted' && typeof session_id === 'string' ? { ...consent, session_id } : null
}

/** Stores a new answer, with its time; a grant begins a new session. */
export async function storeConsent(decision: StoredConsent['decision'], shares_questions: boolean) {
  const decided_at_ms = Date.now()
  const consent: StoredConsent = {
    decision,
    decided_at_ms,
    shares_questions: decision === 'granted' && shares_questions,
    expires_at_ms: decided_at_ms + lifetime_ms,
    session_id: decision === 'granted' ? crypto.randomUUID() : null,
  }
  const jar = await cookies()
  jar.set(name, JSON.stringify(consent), { ...(await cookieAttributes()), maxAge: lifetime_ms / 1000 })
  return consent
}

/** No script reads it and no other site sends it; over https it goes over https only. */
export async function cookieAttributes() {
  const isHttps = (await headers()).get('x-forwarded-proto')?.startsWith('https') ?? false
  return { httpOnly: true, sameSite: 'strict', secure: isHttps, path: '/' } as const
}

export function viewOf({ decision, decided_at_ms, shares_questions }: StoredConsent): ConsentView {
  return { decision, decided_at_ms, shares_questions }
}

function parse(text: string | undefined): StoredConsent | null {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}
