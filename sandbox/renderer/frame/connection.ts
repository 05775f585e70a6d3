/** The port to the host page: taken once, from the parent window only. */
import type { FrameMessage, HostMessage } from '../messages.ts'

export interface Connection {
  send(message: FrameMessage): void
  close(): void
}

/** Waits for the host's first message; `opened` gets the nonce to answer with, `heard` every message after it. */
export function awaitHost(
  opened: (connection: Connection, nonce: string) => void,
  heard: (message: HostMessage) => void,
): void {
  const onInit = (event: MessageEvent): void => {
    const port = event.ports[0]
    const { t, v, nonce } = (event.data ?? {}) as Record<string, unknown>
    if (event.source !== parent || t !== 'sp:init' || v !== 1 || typeof nonce !== 'string' || !port) return
    removeEventListener('message', onInit)
    port.onmessage = ({ data }) => {
      if (data && typeof data === 'object') heard(data as HostMessage)
    }
    opened({ send: (message) => port.postMessage(message), close: () => port.close() }, nonce)
  }
  addEventListener('message', onInit)
}
