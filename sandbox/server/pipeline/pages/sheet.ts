/** The creatives of a campaign for a sheet: its variants as JSON, and the frame of each. */

import type { Services } from '#operations/context.ts'
import { listSheetCampaigns, readSheet, sheetFrame } from '#operations/creative-sheet.ts'
import { measurePictures, measureTexts } from '#qa/sheet/measure.ts'
import { measureMessage } from '#qa/sheet/stage.ts'
import type { OpenExchange, PipelineResponse, Route } from '../exchange.ts'
import type { Assets } from '../files/assets.ts'
import { ownFrameResponse } from '../frames.ts'
import { createPathError } from '../routes.ts'
import { pageJson } from './page-json.ts'

export function sheetRoutes(services: Services, assets: Assets): Route[] {
  const get = (path: string, respond: Route['respond']): Route => ({ method: 'GET', path, respond })
  return [
    get('/_sandbox/creatives', async (exchange) => found(exchange, listSheetCampaigns(services))),
    get('/_sandbox/creatives/{campaign_id}', async (exchange) =>
      found(exchange, readSheet(services, exchange.request.params.campaign_id ?? '')),
    ),
    get('/_sandbox/creatives/{campaign_id}/{variant_id}', (exchange) => variantResponse(services, assets, exchange)),
  ]
}

/** @throws ApiError 404 for null */
function found({ context }: OpenExchange, value: object | null): PipelineResponse {
  if (value === null) throw createPathError('The market has no such campaign. GET /_sandbox/creatives lists all.')
  return pageJson(context, value)
}

/** @throws ApiError 404 */
async function variantResponse(
  services: Services,
  assets: Assets,
  { context, request: { params } }: OpenExchange,
): Promise<PipelineResponse> {
  const frame = sheetFrame(services, params.campaign_id ?? '', params.variant_id ?? '')
  if (frame === null) throw createPathError('GET /_sandbox/creatives/{campaign_id} lists the variants.')
  const { text_percent, ...content } = frame
  return ownFrameResponse(services, assets, context, {
    ...content,
    further_script: createSheetScript(text_percent),
  })
}

/** Returns what the frame of a variant runs besides: the size of its text, and the answer to who asks what is measured in it. */
function createSheetScript(text_percent: number): string {
  return `document.documentElement.style.setProperty('font-size', '${text_percent}%')
addEventListener('message', ({ data, ports }) => {
  if (data?.t !== '${measureMessage}') return
  ports[0].postMessage({ texts: (${measureTexts})('.creative'), ...(${measurePictures})('.creative') })
})`
}
