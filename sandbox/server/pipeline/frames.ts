/** Frames of placements, and the pages that stand in their place. */
import { randomBytes } from 'node:crypto'
import { ApiError } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import { frameAncestors } from '#contract/origins.ts'
import { framePage, frameProblemPage } from '#frame-html/page.ts'
import type { Services } from '#operations/context.ts'
import { loadFrame, previewFrame } from '#operations/render.ts'
import { refuseSecretsInQuery } from './body/secret-fields.ts'
import type { OpenExchange, PipelineResponse, Request, Route } from './exchange.ts'
import { toApiError } from './failures.ts'
import type { Assets } from './files/assets.ts'
import { createPathError } from './routes.ts'

export function frameRoutes(services: Services, assets: Assets): Route[] {
  return [
    {
      method: 'GET',
      path: contract['render.frame'].path,
      respond: (exchange) => frameResponse(services, assets, exchange),
    },
    {
      method: 'GET',
      path: '/_sandbox/placements/{slot_id}/preview',
      respond: (exchange) => previewResponse(services, assets, exchange),
    },
  ]
}

/** The frame of a slot, only for the inspector. @throws ApiError 404 */
async function previewResponse(
  services: Services,
  assets: Assets,
  { context, request }: OpenExchange,
): Promise<PipelineResponse> {
  const frame = await services.drainLock.run(() => previewFrame(services, request.params.slot_id ?? ''))
  if (frame === null) throw createPathError()
  return ownFrameResponse(services, assets, context, frame)
}

type FrameContent = Omit<
  Parameters<typeof framePage>[0],
  'base_url' | 'frame_ancestors' | 'script' | 'nonce' | 'server_time_ms'
>

/** Responds with a frame that only pages of the sandbox itself may show: a preview, a variant of a sheet. */
export async function ownFrameResponse(
  { url, base_url }: Services,
  assets: Assets,
  { now_ms, request_id }: Pick<OpenExchange['context'], 'now_ms' | 'request_id'>,
  { further_script = '', ...frame }: FrameContent & { further_script?: string },
): Promise<PipelineResponse> {
  const page = framePage({
    ...frame,
    base_url,
    frame_ancestors: frameAncestors(new Set([url, base_url]), 'test'),
    script: `${await assets.frameScript()}\n${further_script}`,
    nonce: randomBytes(16).toString('base64url'),
    server_time_ms: now_ms,
  })
  return { status: page.status, headers: { ...page.headers, 'x-request-id': request_id }, body: page.html }
}

/** The frame of a fill, or a page in its place that says why there is none: a browser shows no error body. */
async function frameResponse(
  services: Services,
  assets: Assets,
  { context, request }: OpenExchange,
): Promise<PipelineResponse> {
  const nonce = randomBytes(16).toString('base64url')
  const isPeek = request.method === 'HEAD'
  const asset_token = request.params.asset_token ?? ''
  const respond = (page: { status: number; headers: Record<string, string>; html: string }) => ({
    status: page.status,
    headers: { ...page.headers, ...context.headers, 'x-request-id': context.request_id },
    body: page.html,
  })
  try {
    refuseSecretsInQuery(request)
    const frame = await services.drainLock.run(() => loadFrame(services, context, asset_token, isPeek))
    if (frame.status === 'refused') {
      const { http_status: status, reason_code, frame_ancestors } = frame
      const error = new ApiError(reason_code)
      return {
        ...respond(frameProblemPage({ status, reason_code, message: error.message }, nonce, frame_ancestors)),
        error,
      }
    }
    return respond(
      framePage({
        ...frame,
        base_url: services.base_url,
        script: await assets.frameScript(),
        nonce,
        server_time_ms: services.platform.clock.now(),
      }),
    )
  } catch (thrown) {
    const error = await toApiError(services, thrown, context.request_id)
    const { status, reason_code, message } = error
    return { ...respond(frameProblemPage({ status, reason_code, message }, nonce, null)), error }
  }
}

/**
 * An error as a page that names its cause, for a request that a frame sent: a fault, a limit or a store that is away. JSON in
 * a frame is text that no renderer can read. Other responses are returned unchanged.
 */
export function readableInFrame({ path, headers }: Request, response: PipelineResponse): PipelineResponse {
  const { error, status } = response
  const isShown = /^\/v1\/render\/[^/]+$/.test(path) && headers.accept?.includes('text/html') === true
  if (error === undefined || !isShown || !response.headers['content-type']?.startsWith('application/json'))
    return response
  const { reason_code, message } = error
  const page = frameProblemPage({ status, reason_code, message }, randomBytes(16).toString('base64url'), null)
  return { ...response, headers: { ...response.headers, ...page.headers }, body: page.html }
}
