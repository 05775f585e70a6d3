/** A decision that is pushed over WebSocket (C04). It is an offer: whatever fails, polling goes on instead. */
import { fillPath } from '../foundation/http.ts'
import type { Sender } from './exchange.ts'

/** The part of a WebSocket that is used: that of browsers and of Node fit. */
export interface PushSocket {
  addEventListener(type: 'message' | 'error' | 'close', listener: () => void): void
  close(): void
}
export type PushSocketClass = new (url: string) => PushSocket

/** The path on which a ticket for a slot is issued; its socket is beside it. */
export const ticketPath = '/public/{surface}/v1/slots/{slot_id}/decision-ticket'
const socketPath = '/public/{surface}/v1/slots/{slot_id}/decision/ws'

/** Returns the side that a credential belongs to: a secret key to a server, a token to a page. */
export function surfaceOf({ credential }: Pick<Sender, 'credential'>): 'wrapper' | 'browser' {
  const text = typeof credential === 'function' ? credential() : credential
  return text?.startsWith('sk_') === true ? 'wrapper' : 'browser'
}

/** Resolves to whether a slot was announced as decided within the time; false as soon as push fails. */
export async function announced(
  Socket: PushSocketClass,
  base_url: string,
  params: { surface: string; slot_id: string; ticket: string },
  timeout_ms: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const path = `${fillPath(socketPath, params)}?ticket=${encodeURIComponent(params.ticket)}`
  const socket = new Socket(base_url.replace(/^http/, 'ws').replace(/\/+$/, '') + path)
  return new Promise((resolve) => {
    const end = (isAnnounced: boolean) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
      socket.close()
      resolve(isAnnounced)
    }
    const leave = () => end(false)
    const timer = setTimeout(leave, timeout_ms)
    signal?.addEventListener('abort', leave, { once: true })
    socket.addEventListener('message', () => end(true))
    socket.addEventListener('error', leave)
    socket.addEventListener('close', leave)
  })
}
