/**
 * The token of a page of the sandbox. On loopback its document has that of the start. Beyond, it is kept for this tab, and
 * taken out of the address, so that no history, bookmark or copied link has it.
 */
const storageKey = 'svc.admin_token'

// Tests of the pages' parts run where there is no document.
const element = globalThis.document?.querySelector<HTMLMetaElement>('meta[name="svc-token"]')
element?.remove()
/** The token that the document came with; null for one that came without. */
const documentToken = element?.content ?? null

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

/** Returns the header of a request with the token of this page; empty without one. */
export function tokenHeaders(): Record<string, string> {
  const ofTab = tabToken()
  const token = documentToken ?? ofTab
  return token === null ? {} : { 'x-sandbox-token': token }
}

/** Keeps a token for this tab; null removes it. */
export function keepToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(storageKey)
  else sessionStorage.setItem(storageKey, token)
}
