/** Routes whose answer is not JSON: render.js, the hosted frame, creatives and test substitutes. */
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { reasonCodes } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import { framePage, frameProblemPage } from '../frame-html/page.ts'
import { loadFrame } from '../operations/render.ts'
import { type Asset, type Assets, rangeOf } from './assets.ts'
import { namesTag } from './etag.ts'
import { type Door, openExchange, record, toApiError } from './pipeline.ts'

const { 'render.frame': getFrame, 'render.script': getRenderScript } = contract

/** Paths of files, which are not in the contract. */
export const assetPaths = ['/v1/test-assets/{format}', '/assets/creatives/{folder}/{file}'] as const

/** A91: any page may load these. */
export const publicHeaders = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
}

export function registerMedia(app: FastifyInstance, door: Door, assets: Assets): void {
  app.get(getRenderScript.path, async (request, reply) =>
    sendAsset(door, request, reply, await assets.renderScript(), 'no-cache'),
  )
  app.get<{ Params: { asset_token: string } }>(
    getFrame.path.replace('{asset_token}', ':asset_token'),
    (request, reply) => sendFrame(door, assets, request, reply),
  )
  app.get<{ Params: { format: string }; Querystring: Record<string, string | string[] | undefined> }>(
    '/v1/test-assets/:format',
    async (request, reply) => {
      const one = (name: string) => {
        const value = request.query[name]
        return typeof value === 'string' ? value : undefined
      }
      const asset = await assets.testAsset({
        format: request.params.format,
        width: one('width'),
        height: one('height'),
        duration_ms: one('duration_ms'),
        poster: one('poster'),
      })
      return asset === null ? reply.callNotFound() : sendAsset(door, request, reply, asset, 'public, max-age=3600')
    },
  )
  app.get<{ Params: { folder: string; file: string } }>('/assets/creatives/:folder/:file', async (request, reply) => {
    const asset = await assets.creative(`${request.params.folder}/${request.params.file}`)
    return asset === null ? reply.callNotFound() : sendAsset(door, request, reply, asset, 'public, max-age=3600')
  })
}

function sendAsset(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  asset: Asset,
  cache: string,
): FastifyReply {
  const { body, etag, media_type } = asset
  const exchange = openExchange(door, request, reply)
  const headers: Record<string, string> = {
    ...publicHeaders,
    'x-request-id': exchange.context.request_id,
    etag,
    'cache-control': cache,
    'accept-ranges': 'bytes',
    ...exchange.context.headers,
  }
  const answer = (status: number, bytes: Buffer | undefined) => {
    if (request.url.startsWith('/v1/')) record(door, exchange, { status, headers, body: '', error: null })
    return reply.code(status).headers(headers).send(bytes)
  }
  if (namesTag(request.headers['if-none-match'], etag)) return answer(304, undefined)
  const range = rangeOf(request.headers.range, body.length)
  if (range === 'unsatisfiable') {
    headers['content-range'] = `bytes */${body.length}`
    return answer(416, undefined)
  }
  headers['content-type'] = media_type
  if (range === null) return answer(200, body)
  headers['content-range'] = `bytes ${range.start}-${range.end}/${body.length}`
  return answer(206, body.subarray(range.start, range.end + 1))
}

async function sendFrame(
  door: Door,
  assets: Assets,
  request: FastifyRequest<{ Params: { asset_token: string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { services } = door
  const exchange = openExchange(door, request, reply)
  const { context } = exchange
  const nonce = randomBytes(16).toString('base64url')
  try {
    const isPeek = request.method === 'HEAD'
    const result = await services.drainLock.run(() => loadFrame(services, context, request.params.asset_token, isPeek))
    const page =
      result.status === 'refused'
        ? frameProblemPage(
            {
              status: result.http_status,
              reason_code: result.reason_code,
              message: reasonCodes[result.reason_code].message,
            },
            nonce,
            result.allowed_origins,
          )
        : framePage({
            ...result,
            base_url: services.base_url,
            frame_ancestors: result.allowed_origins,
            script: await assets.frameScript(),
            nonce,
            server_time_ms: services.platform.clock.now(),
          })
    const headers = { ...page.headers, ...context.headers, 'x-request-id': context.request_id }
    record(door, exchange, { status: page.status, headers, body: '', error: null })
    return reply.code(page.status).headers(headers).send(page.html)
  } catch (thrown) {
    const error = toApiError(services, thrown, context.request_id)
    const page = frameProblemPage({ status: 404, reason_code: error.reason_code, message: error.message }, nonce, null)
    record(door, exchange, { status: error.status, headers: {}, body: '', error })
    return reply
      .code(error.status)
      .headers({ ...page.headers, ...context.headers, 'x-request-id': context.request_id })
      .send(page.html)
  }
}
