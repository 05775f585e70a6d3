/** What the browser may know. Read when a request comes, so that one build runs everywhere. */

/** Base URL of the placement service; empty: the chat has no sponsored slots. */
export function serviceUrl(): string {
  return (process.env.SVC_BASE_URL ?? '').replace(/\/$/, '')
}

export function serviceOrigin(): string {
  const base_url = serviceUrl()
  return base_url === '' ? '' : new URL(base_url).origin
}
