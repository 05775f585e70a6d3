/** Export and import of the whole state: a gzip stream either way, never whole in memory. */
import { open } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { pipeline as pipe } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { requiredRole } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import { limits } from '#contract/limits.ts'
import type { Services } from '#operations/context.ts'
import { importState as importBytes } from '#operations/sandbox/snapshots.ts'
import { refuseQuery, validate } from '../body/validation.ts'
import { type OpenExchange, type PipelineResponse, type Request, type Route, successResponse } from '../exchange.ts'

const { 'sandbox.export': exportState, 'sandbox.import': importState } = contract

/** Bytes that are read, packed and unpacked at once: with those of Node, most of the time goes into the pieces. */
const bytesAtOnce = 256 * 1_024

const packing = { level: 1, memLevel: 9, chunkSize: bytesAtOnce, writableHighWaterMark: 1 }

/** How long an import may send nothing, milliseconds; the whole file may take as long as it needs. */
const maxIdleMs = 30_000

/**
 * @param withoutDeadline runs work while requests may take longer to arrive than the server allows; idle ones are ended
 * here
 */
export function archiveRoutes(
  services: Services,
  withoutDeadline: <Result>(work: () => Promise<Result>) => Promise<Result>,
  wait_ms = maxIdleMs,
): Route[] {
  return [
    { method: 'GET', path: exportState.path, respond: (exchange) => exportResponse(services, exchange) },
    {
      method: 'POST',
      path: importState.path,
      role: requiredRole(importState),
      audited_as: importState.id,
      async respond(exchange) {
        const bytes = unpackedBody(exchange.request, wait_ms)
        refuseQuery(exchange.request.query)
        const result = await withoutDeadline(() => importBytes(services, exchange.context, bytes))
        return successResponse(importState.status, exchange, result)
      },
    },
  ]
}

async function exportResponse({ store }: Services, { context, request }: OpenExchange): Promise<PipelineResponse> {
  validate(exportState.query, { ...request.query })
  const headers = {
    'content-type': exportState.response.media_type,
    'content-disposition': 'attachment; filename="sandbox.svc.gz"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': context.request_id,
  }
  if (request.method === 'HEAD') return { status: 200, headers, body: (sink) => void sink.end() }
  const copy = await store.exportState()
  return {
    status: 200,
    headers,
    async body(sink) {
      try {
        await pipe(readParts(copy.path), createGzip(packing), sink).catch(() => sink.destroy())
      } finally {
        await copy.remove()
      }
    },
  }
}

/**
 * Yields the parts of a file, each in the same memory: it is consumed before the next is asked for, since `packing` holds
 * none. With memory for each, V8 would collect all garbage every 16 MB, which takes a fifth of the time of an export.
 */
async function* readParts(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path)
  const part = Buffer.allocUnsafe(bytesAtOnce)
  try {
    for (;;) {
      const { bytesRead } = await file.read(part)
      if (bytesRead === 0) return
      yield part.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

/** The body of an import, checked by its headers before anything is read. */
function unpackedBody({ headers, incoming }: Request, wait_ms: number): AsyncGenerator<Uint8Array> {
  if (!/^application\/gzip\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    throw new ApiError('content_type_unsupported', {
      message: `The Content-Type is not ${importState.body_media_type}.`,
      hint: 'Send the file from GET /_sandbox/export unchanged, with Content-Type: application/gzip.',
    })
  }
  if (Number(headers['content-length'] ?? 0) > limits.import_bytes) throw tooLarge()
  return unpack(incoming, wait_ms)
}

/** Unpacks a body as it arrives. Bytes that are not gzip, or too many, are the caller's mistake. */
async function* unpack(incoming: IncomingMessage | null, wait_ms: number): AsyncGenerator<Uint8Array> {
  let packed = 0
  let size = 0
  const counted = async function* () {
    for await (const chunk of incoming === null ? [] : arriving(incoming, wait_ms)) {
      packed += chunk.length
      if (packed > limits.import_bytes) throw tooLarge()
      yield chunk
    }
  }
  const gunzip = createGunzip({ chunkSize: bytesAtOnce })
  const fed = pipe(counted, gunzip)
  fed.catch(() => {})
  try {
    for await (const chunk of gunzip) {
      size += chunk.length
      if (size > limits.import_unpacked_bytes) throw tooLarge()
      yield chunk as Buffer
      release(chunk as Buffer)
    }
    await fed
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('archive_invalid', {
      message: `The file cannot be unpacked: ${error instanceof Error ? error.message : String(error)}.`,
    })
  }
}

/**
 * Frees the memory of a part that was written, for the same reason. A part that has not filled its memory shares it with
 * the next.
 */
function release({ buffer, byteOffset, length }: Buffer): void {
  if (byteOffset + length === buffer.byteLength) (buffer as ArrayBuffer).transfer(0)
}

/** Passes on a body as it arrives. Only waiting for the client counts: writing and unpacking may take their time. */
async function* arriving(incoming: IncomingMessage, wait_ms: number): AsyncGenerator<Buffer> {
  const chunks = incoming[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  for (;;) {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const message = `No data arrived for ${wait_ms / 1_000} s.`
      timer = setTimeout(() => reject(new ApiError('http_malformed', { message })), wait_ms)
    })
    const next = chunks.next()
    next.catch(() => {})
    try {
      const { done, value } = await Promise.race([next, late])
      if (done === true) return
      yield value
    } finally {
      clearTimeout(timer)
    }
  }
}

function tooLarge(): ApiError {
  return new ApiError('payload_too_large', {
    message: 'The file is too large.',
    hint: `At most ${limits.import_bytes} bytes, ${limits.import_unpacked_bytes} unpacked.`,
  })
}
