/** The sandbox that `svc exec` started, and this server in front of it. */
import type { AddressInfo } from 'node:net'
import { createApp } from '../src/app.ts'
import { readSettings } from '../src/settings.ts'

const settings = readSettings(process.env)

/** One visitor, with its own cookie. */
export interface Visitor {
  get(path: string): Promise<Answer>
  post(path: string, body: object): Promise<Answer>
}

/** The fields of all routes' responses, combined. */
interface Body {
  slot_id: string
  status: string
  placement: { asset_token: string; ad_label_text: string; render: { frame_url: string } } | null
  decision: { fill: boolean; no_fill_reason?: string }
  authoritative_consent: { lifecycle_state: string }
  accepted: boolean
  count: number
  items: { event: string }[]
  request_body: string
}

export interface Answer {
  status: number
  body: Body
  headers: Headers
}

export async function startServer() {
  const server = createApp(settings).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    visitor(): Visitor {
      let cookie = ''
      const call = async (method: string, path: string, body?: object) => {
        const headers = { cookie, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
        const answer = await request(`${url}${path}`, { method, headers, body: body && JSON.stringify(body) })
        cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? cookie
        return answer
      }
      return { get: (path) => call('GET', path), post: (path, body) => call('POST', path, body) }
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

/** The control plane of the sandbox: the requests it received, the faults to inject, the clock. */
export const sandbox = {
  get: (path: string) => request(new URL(`/_sandbox/${path}`, settings.base_url), {}),
  send: (method: 'POST' | 'PATCH' | 'DELETE', path: string, body: object = {}) =>
    request(new URL(`/_sandbox/${path}`, settings.base_url), {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
}

async function request(url: string | URL, init: { method?: string; headers?: object; body?: string | undefined }) {
  const response = await fetch(url, init as RequestInit)
  return { status: response.status, body: (await response.json()) as Body, headers: response.headers }
}
