/** What this page knows of the running sandbox: the token that its calls carry, and the projects of the seed. */
import { createCell } from './cell.ts'

export interface SeededProject {
  client_id: string
  secret_key: string
  live_secret_key: string
  publishable_key: string
}

interface Session {
  /** Proves that a call comes from this page. Another one after each start of the sandbox. */
  token: string
  /** Origin of frame URLs and links. */
  base_url: string
  version: string
  /** Whether every read needs the token too. */
  is_public: boolean
  last_event_seq: number
  projects: readonly SeededProject[]
}

type SessionState = 'opening' | 'open' | 'locked' | 'unreachable'

const storageKey = 'svc.admin_token'

const session = createCell<Session | null>(null)
const state = createCell<SessionState>('opening')

export function currentSession(): Session | null {
  return session.get()
}

function set(next: SessionState): SessionState {
  state.set(next)
  return next
}

/** Reads the session again. Beyond loopback it needs the admin token, which the address or this tab has, else `locked`. */
export async function openSession(): Promise<SessionState> {
  takeTokenOfAddress()
  const token = sessionStorage.getItem(storageKey)
  const headers: Record<string, string> = token === null ? {} : { 'x-sandbox-token': token }
  try {
    const response = await fetch('/_sandbox/inspector/session', { headers, cache: 'no-store' })
    if (response.status === 403) {
      sessionStorage.removeItem(storageKey)
      return set('locked')
    }
    if (!response.ok) return state.get() === 'open' ? 'open' : set('unreachable')
    session.set((await response.json()) as Session)
    return set('open')
  } catch {
    return state.get() === 'open' ? 'open' : set('unreachable')
  }
}

/** Tries an admin token: keeps it for this tab when it is the right one. */
export function unlock(token: string): Promise<SessionState> {
  sessionStorage.setItem(storageKey, token)
  return openSession()
}

/** Moves `?token=` of the address into this tab, so that it is in no history and no copied link. */
function takeTokenOfAddress(): void {
  const url = new URL(location.href)
  const token = url.searchParams.get('token')
  if (token === null) return
  sessionStorage.setItem(storageKey, token)
  url.searchParams.delete('token')
  history.replaceState(history.state, '', url)
}

export function useSessionState(): SessionState {
  return state.use()
}

/** Returns the session of a page that is shown, which has one. */
export function useSession(): Session {
  const open = session.use()
  if (open === null) throw new Error('views are shown once the session is open')
  return open
}

/** Returns the address of a page or a file of this sandbox for a plain link: beyond loopback with the token. */
export function linkTo(address: string): string {
  const open = currentSession()
  if (open?.is_public !== true) return address
  return `${address}${address.includes('?') ? '&' : '?'}token=${encodeURIComponent(open.token)}`
}
