/** JSON for the sandbox's own pages: outside of the contract, never cached, never taken for another type. */
import type { OpenExchange, PipelineResponse } from '../exchange.ts'

export function pageJson({ request_id }: Pick<OpenExchange['context'], 'request_id'>, body: object): PipelineResponse {
  return {
    status: 200,
    headers: {
      'x-request-id': request_id,
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
    body: JSON.stringify(body),
  }
}
