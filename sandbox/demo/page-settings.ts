/** What the backend has told this page. The secret key is not among it. */
export interface PageSettings {
  token: string
  client_id: string
  publishable_key: string
  since_seq: number
}

export function readPageSettings(): PageSettings {
  return JSON.parse(document.getElementById('settings')?.textContent ?? '{}') as PageSettings
}
