/** Requests of the process to others, such as callbacks: the history answers them. */
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Network } from './network.ts'
import type { Scheduler } from './scheduler.ts'

interface OutgoingOptions {
  host: string
  port: number
  path: string
  method: string
  headers: Record<string, string>
  signal: AbortSignal
}

/** Returns what sends a request of the process to another one. */
export function createSendOut(find: () => { scheduler: Scheduler; network: Pick<Network, 'onOutgoing'> }) {
  return (options: OutgoingOptions, onResponse: (incoming: IncomingMessage) => void) =>
    sendOut(find(), options, onResponse)
}

function sendOut(
  { scheduler, network }: { scheduler: Scheduler; network: Pick<Network, 'onOutgoing'> },
  options: OutgoingOptions,
  onResponse: (incoming: IncomingMessage) => void,
) {
  const outgoing = Object.assign(new EventEmitter(), {
    end(body: string) {
      const { host, port, path, method, headers, signal } = options
      const fail = (error: unknown) => outgoing.emit('error', error)
      signal.addEventListener('abort', () => fail(signal.reason))
      scheduler.add('thread', scheduler.dice.below(40), () => {
        if (signal.aborted) return
        const answer = network.onOutgoing({ method, path, headers, body, host, port })
        if (answer === 'refused')
          return fail(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
        const incoming = Object.assign(Readable.from([Buffer.from('{}')]), { statusCode: answer.status, headers: {} })
        onResponse(incoming as unknown as IncomingMessage)
      })
    },
  })
  return outgoing
}
