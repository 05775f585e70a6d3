/** The creatives of a campaign for a sheet: its variants as JSON, and the frame of each. */
import { randomBytes } from 'node:crypto'
import { frameAncestors } from '#contract/origins.ts'
import { framePage } from '#frame-html/page.ts'
import type { Services } from '#operations/context.ts'
import { listSheetCampaigns, readSheet, sheetFrame } from '#operations/creative-sheet.ts'
import type { OpenExchange, PipelineResponse, Route } from '../exchange.ts'
import type { Assets } from '../files/assets.ts'
import { createPathError } from '../routes.ts'

export function sheetRoutes(services: Services, assets: Assets): Route[] {
  const get = (path: string, respond: Route['respond']): Route => ({ method: 'GET', path, respond })
  return [
    get('/_sandbox/creatives', async (exchange) => jsonResponse(exchange, listSheetCampaigns(services))),
    get('/_sandbox/creatives/{campaign_id}', async (exchange) =>
      jsonResponse(exchange, readSheet(services, exchange.request.params.campaign_id ?? '')),
    ),
    get('/_sandbox/creatives/{campaign_id}/{variant_id}', (exchange) => variantResponse(services, assets, exchange)),
  ]
}

/** @throws ApiError 404 for null */
function jsonResponse({ context }: OpenExchange, value: object | null): PipelineResponse {
  if (value === null) throw createPathError('The market has no such campaign. GET /_sandbox/creatives lists all.')
  return {
    status: 200,
    headers: {
      'x-request-id': context.request_id,
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
    body: JSON.stringify(value),
  }
}

/** @throws ApiError 404 */
async function variantResponse(
  services: Services,
  assets: Assets,
  { context, request: { params } }: OpenExchange,
): Promise<PipelineResponse> {
  const frame = sheetFrame(services, params.campaign_id ?? '', params.variant_id ?? '')
  if (frame === null) throw createPathError('GET /_sandbox/creatives/{campaign_id} lists the variants.')
  const { url, base_url } = services
  const page = framePage({
    ...frame,
    base_url,
    frame_ancestors: frameAncestors(new Set([url, base_url]), 'test'),
    script: await assets.frameScript(),
    nonce: randomBytes(16).toString('base64url'),
    server_time_ms: context.now_ms,
  })
  return { status: page.status, headers: { ...page.headers, 'x-request-id': context.request_id }, body: page.html }
}
