/** The metrics of this node, in the format that the scraper asks for. */
import { contract } from '#contract/index.ts'
import type { Services } from '#operations/context.ts'
import { collectMetrics } from '#operations/sandbox/metrics.ts'
import { type ExpositionFormat, formatMetrics, mediaTypes } from '#runtime/metrics/exposition.ts'
import { validate } from '../body/validation.ts'
import type { Route } from '../exchange.ts'

const { 'sandbox.metrics': metrics } = contract

export function metricsRoutes(services: Services): Route[] {
  return [
    {
      method: 'GET',
      path: metrics.path,
      takesBearer: true,
      async respond({ context, request }) {
        validate(metrics.query, { ...request.query })
        const format = chooseFormat(request.headers.accept)
        const headers = {
          'content-type': mediaTypes[format],
          'cache-control': 'no-store',
          vary: 'Accept',
          'x-content-type-options': 'nosniff',
          'x-request-id': context.request_id,
        }
        return { status: 200, headers, body: formatMetrics(await collectMetrics(services), format) }
      },
    },
  ]
}

/** Returns OpenMetrics for a client that names it, and prefers it to plain text or likes both the same. */
export function chooseFormat(accept: string | undefined): ExpositionFormat {
  const open = findQuality(accept, /^application\/openmetrics-text$/i, /^(1\.0\.0|0\.0\.1)$/)
  const plain = findQuality(accept, /^text\/plain$/i, /^0\.0\.4$/)
  return open > 0 && open >= plain ? 'openmetrics' : 'prometheus'
}

/** Returns the largest quality of a media type in an Accept header, of a version that is known; 0 when it is not there. */
function findQuality(accept: string | undefined, type: RegExp, version: RegExp): number {
  const ranges = accept?.split(',').map((range) => range.split(';').map((part) => part.trim())) ?? []
  const qualities = ranges.map(([name = '', ...parameters]) => {
    const values = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]))
    const wanted = values.get('version')?.replaceAll('"', '')
    const isKnown = type.test(name) && (wanted === undefined || version.test(wanted))
    const quality = Number(values.get('q') ?? 1)
    return isKnown && quality >= 0 && quality <= 1 ? quality : 0
  })
  return Math.max(0, ...qualities)
}
