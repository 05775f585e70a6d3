/** Exports on their way out and in: a gzip stream either way, never whole in memory. */
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import { limits } from '../../src/contract/limits.ts'
import { importState as takeIn } from '../operations/snapshots.ts'
import { type Door, type Exchange, errorAnswer, openExchange, send, successAnswer, toApiError } from './pipeline.ts'
import { validate } from './body.ts'

const { 'sandbox.export': exportState, 'sandbox.import': importState } = contract

export function registerArchive(app: FastifyInstance, door: Door): void {
  app.get(exportState.path, (request, reply) => sendExport(door, request, reply))
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    scope.post(importState.path, { bodyLimit: importState.body_limit_bytes }, (request, reply) =>
      answer(door, request, reply, async (exchange) => {
        const { services } = door
        const bytes = unpacked(request)
        const result = await services.drainLock.run(() => takeIn(services, exchange.context.now_ms, bytes))
        send(reply, successAnswer(importState, exchange, result))
      }),
    )
  })
}

async function sendExport(door: Door, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  await answer(door, request, reply, async ({ context }) => {
    validate(exportState.query, { ...(request.query as object) })
    const headers = {
      'content-type': exportState.response.media_type,
      'content-disposition': 'attachment; filename="sandbox.svc.gz"',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': context.request_id,
    }
    if (request.method === 'HEAD') {
      reply.hijack().raw.writeHead(200, headers).end()
      return
    }
    const copy = await door.services.store.exportState()
    try {
      const { raw } = reply.hijack()
      raw.writeHead(200, headers)
      await pipeline(createReadStream(copy.path), createGzip({ level: 1 }), raw).catch(() => raw.destroy())
    } finally {
      copy.remove()
    }
  })
}

async function answer(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (exchange: Exchange) => Promise<void>,
): Promise<void> {
  const exchange = openExchange(door, request, reply)
  try {
    await work(exchange)
  } catch (thrown) {
    send(reply, errorAnswer(exchange.context, toApiError(door.services, thrown, exchange.context.request_id)))
  }
}

/** Looks at the head of the request before anything is made for it. */
function unpacked(request: FastifyRequest): AsyncGenerator<Uint8Array> {
  if (!/^application\/gzip\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new ApiError('content_type_unsupported', {
      message: `The Content-Type is not ${importState.body_media_type}.`,
      hint: 'Send the file of GET /_sandbox/export as it is, with Content-Type: application/gzip.',
    })
  }
  if (Number(request.headers['content-length'] ?? 0) > limits.import_bytes) throw tooLarge()
  return unpack(request)
}

/** The body, unpacked as it comes. Bytes that are not gzip, or too many, are the caller's mistake. */
async function* unpack(request: FastifyRequest): AsyncGenerator<Uint8Array> {
  let packed = 0
  let size = 0
  const counted = async function* () {
    for await (const chunk of request.raw) {
      packed += chunk.length
      if (packed > limits.import_bytes) throw tooLarge()
      yield chunk as Buffer
    }
  }
  const gunzip = createGunzip()
  const fed = pipeline(counted, gunzip)
  fed.catch(() => {})
  try {
    for await (const chunk of gunzip) {
      size += chunk.length
      if (size > limits.import_unpacked_bytes) throw tooLarge()
      yield chunk as Buffer
    }
    await fed
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('archive_invalid', {
      message: `The file cannot be unpacked: ${error instanceof Error ? error.message : String(error)}.`,
    })
  }
}

function tooLarge(): ApiError {
  return new ApiError('payload_too_large', {
    message: 'The file is too large.',
    hint: `At most ${limits.import_bytes} bytes, ${limits.import_unpacked_bytes} unpacked.`,
  })
}
