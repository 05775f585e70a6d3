/** The session with the running sandbox: the token sent with every call, and the projects of the seed. */
import { keepToken, tokenHeaders } from '#browser/tab-token.ts'
import { createCell } from './cell.ts'

export interface SeededProject {
  client_id: string
  secret_key: string
  live_secret_key: string
  publishable_key: string
}

interface InspectorSession {
  /** Proves that a call comes from this page; null when the sandbox was started again since the page was opened. */
  token: string | null
  /** Origin of frame URLs and links. */
  base_url: string
  version: string
  /** Whether every read needs the token too. */
  is_public: boolean
  last_event_seq: number
  projects: readonly SeededProject[]
}

type SessionState = 'opening' | 'open' | 'locked' | 'unreachable'

const session = createCell<InspectorSession | null>(null)
const state = createCell<SessionState>('opening')

export function currentSession(): InspectorSession | null {
  return session.get()
}

function set(next: SessionState): SessionState {
  state.set(next)
  return next
}

/**
 * Reads the session again. Beyond loopback it needs the admin token, from the address or this tab, else the session is
 * `locked`.
 */
export async function openSession(): Promise<SessionState> {
  try {
    const response = await fetch('/_sandbox/inspector/session', { headers: tokenHeaders(), cache: 'no-store' })
    if (response.status === 403) {
      keepToken(null)
      return set('locked')
    }
    if (!response.ok) return state.get() === 'open' ? 'open' : set('unreachable')
    session.set(await response.json())
    return set('open')
  } catch {
    return state.get() === 'open' ? 'open' : set('unreachable')
  }
}

/** Tries an admin token: keeps it for this tab when it is the right one. */
export function unlock(token: string): Promise<SessionState> {
  keepToken(token)
  return openSession()
}

export function useSessionState(): SessionState {
  return state.use()
}

/** Returns the session, which every visible page has. */
export function useSession(): InspectorSession {
  const open = session.use()
  if (open === null) throw new Error('views are shown once the session is open')
  return open
}

/** Returns the address of a page or a file of this sandbox for a plain link: beyond loopback with the token. */
export function linkTo(address: string): string {
  const open = currentSession()
  if (open?.is_public !== true) return address
  return `${address}${address.includes('?') ? '&' : '?'}token=${encodeURIComponent(open.token ?? '')}`
}
