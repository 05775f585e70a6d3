import { z } from 'zod'
import { contract, type EndpointId } from '../../contract/index.ts'
import { Json } from '../suite/fields.ts'
import { movesOf, needsOf } from './effects.ts'
import { stepKind } from './step-kind.ts'

/** Any endpoint of the contract, by its id. */
export const call = stepKind({
  name: 'call',
  summary: 'calls an endpoint of the contract by its id, v1 or control plane',
  shape: {
    call: z.enum(Object.keys(contract) as [EndpointId, ...EndpointId[]]).describe('Id of the endpoint.'),
    params: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .optional()
      .describe('Parameters of the path.'),
    body: Json.optional().describe('The body, as JSON.'),
  },
  isRequest: true,
  needs: (step) => needsOf(step.call as EndpointId, step),
  moves: (step) => movesOf(step.call as EndpointId),
  title: (step) => String(step.call),
  run: ({ call, params = {}, body, ...members }, turn) =>
    turn.call(call, {
      params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)])),
      body: body ?? (needsBody(call) ? {} : undefined),
      members,
    }),
})

/** The control plane's bodies are objects without a required member, mostly. */
function needsBody(id: EndpointId): boolean {
  const endpoint = contract[id]
  return endpoint.stability === 'sandbox' && 'body' in endpoint
}
