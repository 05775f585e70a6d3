/** A response that is read piece by piece: events, or the bytes of a file. */
import type { SandboxEvent } from '../contract/control/events.ts'
import type { ServiceError } from './errors.ts'
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
  schemas: () => EventReader | Promise<EventReader>
  /** Returns the error of a response that is not a success. */
  failure: (endpoint: SentEndpoint, response: RawResponse) => Promise<ServiceError>
}

/** Yields the events or bytes of a response to its end. Throws ServiceError and UnreachableError. */
export async function* openStream({ transport, endpoint, request, signal, schemas, failure }: OpenStream) {
  const isFile = mediaTypeOf(endpoint) === 'application/gzip'
  const opened = await exchange(isFile ? unlimited(transport) : transport, request, signal, async (response) =>
    response.ok ? { reader: response.body?.getReader() } : { failure: await readToEnd(response) },
  )
  if (opened.failure !== undefined) throw await failure(endpoint, opened.failure)
  if (opened.reader === undefined) return
  yield* isFile ? readBytes(opened.reader) : (await schemas()).readEvents(opened.reader)
}
