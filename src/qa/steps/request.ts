import { z } from 'zod'
import { contract, type EndpointId } from '../../contract/index.ts'
import { AnyJson, orVariable } from '../suite/variables.ts'
import { movesOf, needsOf, needsOfMembers, type StepData, stepKind } from './step-kind.ts'

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
    body: AnyJson.optional().describe('The body, as JSON.'),
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

/** Any request at all, malformed ones too. */
export const request = stepKind({
  name: 'request',
  summary: 'sends any request, malformed ones too',
  shape: {
    request: z
      .strictObject({
        method: z.string().min(1).optional().describe('Default GET, with a body POST.'),
        path: z
          .string()
          .regex(/^(\/|https?:\/\/|\{\{)/, 'must be a path such as /v1/jobs, or a whole address')
          .describe('Path and query; or a whole address, as answers hold them.'),
        body: AnyJson.optional().describe('Text is sent as it is, anything else as JSON.'),
        bytes: orVariable(z.int().min(0).max(20_000_000), 'a whole number')
          .optional()
          .describe('Instead of body: a JSON text of so many bytes.'),
        content_type: z
          .string()
          .nullable()
          .optional()
          .describe('Default application/json where there is a body; null for none.'),
      })
      .describe('Method, path and body.'),
  },
  isRequest: true,
  needs: (step) => [...(pathOf(step).startsWith('/_sandbox') ? (['control'] as const) : []), ...needsOfMembers(step)],
  moves: () => [],
  title: (step) => `${methodOf(step)} ${pathOf(step)}`,
  run: ({ request: { method, path, body, bytes, content_type }, ...members }, turn) => {
    const text = bytes === undefined ? textOf(body) : `"${'x'.repeat(Math.max(0, bytes - 2))}"`
    const type = content_type === undefined && text !== null ? 'application/json' : content_type
    return turn.request({
      method: method ?? (text === null ? 'GET' : 'POST'),
      path,
      body: text,
      headers: typeof type === 'string' ? { 'content-type': type } : {},
      members,
    })
  },
})

function textOf(body: unknown): string | null {
  if (body === undefined) return null
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function partsOf({ request }: StepData): Record<string, unknown> {
  return typeof request === 'object' && request !== null ? (request as Record<string, unknown>) : {}
}

function pathOf(step: StepData): string {
  return String(partsOf(step).path ?? '')
}

function methodOf(step: StepData): string {
  const { method, body, bytes } = partsOf(step)
  return String(method ?? (body === undefined && bytes === undefined ? 'GET' : 'POST'))
}
