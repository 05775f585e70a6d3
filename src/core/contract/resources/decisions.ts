/** Decisions of slots that a job left pending. */
import { declareEndpoints, publicApi } from '../endpoint.ts'
import { slotIdParam, WaitMsQuery } from '../fields.ts'
import { assumed, observed, strictObject } from '../objects.ts'
import { PlacementResponse } from './placements.ts'

export const v1 = declareEndpoints({
  'decisions.get': {
    ...publicApi,
    method: 'GET',
    path: '/v1/decisions/{slot_id}',
    summary: 'Poll a slot for its decision',
    description:
      'Returns the placement response; decision is null while pending. A slot that is unknown or belongs to another project gets a 404.',
    stability: 'advanced',
    params: strictObject(() => ({ slot_id: slotIdParam })),
    query: strictObject(() => ({
      wait_ms: observed(WaitMsQuery.optional(), 'A36', 'Long-poll wait, milliseconds; 0 when absent, clamped to 5000.'),
    })),
    response: assumed(PlacementResponse, 'A36', 'The placement response object.'),
    response_headers: ['date', 'x-sandbox-warning'],
    errors: ['not_found'],
  },
})
