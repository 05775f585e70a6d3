/**
 * The admin token that a page of the sandbox needs beyond loopback: kept for this tab, and taken out of the address, so
 * that no history, bookmark or copied link has it.
 */
const storageKey = 'svc.admin_token'

/** Returns the token of this tab, after moving `?token=` of the address into it; null without one. */
function tabToken(): string | null {
  const url = new URL(location.href)
  const token = url.searchParams.get('token')
  if (token === null) return sessionStorage.getItem(storageKey)
  keepToken(token)
  url.searchParams.delete('token')
  history.replaceState(history.state, '', url)
  return token
}

/** Returns the header of a read with the token of this tab; none on loopback. */
export function tokenHeaders(): Record<string, string> {
  const token = tabToken()
  return token === null ? {} : { 'x-sandbox-token': token }
}

/** Keeps a token for this tab; null removes it. */
export function keepToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(storageKey)
  else sessionStorage.setItem(storageKey, token)
}
