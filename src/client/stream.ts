/** A response that is read piece by piece: events, or the bytes of a file. */
import type { SandboxEvent } from '../contract/control/events.ts'
import { ContractError, type ServiceError } from './errors.ts'
import {
  type ByteReader,
  exchange,
  type HttpRequest,
  mediaTypeOf,
  type RawResponse,
  readBytes,
  readToEnd,
  type SentEndpoint,
  type Transport,
  unlimited,
} from './exchange.ts'

interface EventReader {
  readEvents(reader: ByteReader): AsyncGenerator<SandboxEvent, void, undefined>
}

interface OpenStream {
  transport: Transport
  endpoint: SentEndpoint
  request: HttpRequest
  signal: AbortSignal | undefined
  onOpen: (() => void) | undefined
  schemas: () => EventReader | Promise<EventReader>
  /** Returns the error of a response that is not a success. */
  failure: (endpoint: SentEndpoint, response: RawResponse) => Promise<ServiceError>
}

/** Yields the events or bytes of a response to its end. Throws ServiceError, UnreachableError and ContractError. */
export async function* openStream({ transport, endpoint, request, signal, onOpen, schemas, failure }: OpenStream) {
  const expected = mediaTypeOf(endpoint)
  const isFile = expected === 'application/gzip'
  const opened = await exchange(isFile ? unlimited(transport) : transport, request, signal, async (response) => {
    const type = response.headers.get('content-type')
    if (!response.ok || (!isFile && !type?.startsWith(`${expected}`))) return { other: await readToEnd(response), type }
    return { reader: response.body?.getReader() }
  })
  if (opened.other?.ok === true) {
    const difference = `content-type: expected ${expected}, received ${opened.type ?? 'none'}`
    throw new ContractError(endpoint.id, opened.other.status, [difference], opened.other.request_id)
  }
  if (opened.other !== undefined) throw await failure(endpoint, opened.other)
  onOpen?.()
  if (opened.reader === undefined) return
  yield* isFile ? readBytes(opened.reader) : (await schemas()).readEvents(opened.reader)
}
