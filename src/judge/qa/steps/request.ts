/** The step that sends any request. */
import { z } from 'zod'
import { isObject } from '#foundation/json.ts'
import { AnyJson, orVariable } from '../suite/variables.ts'
import { needsOfRequest, type StepData, stepKind } from './step-kind.ts'

export const request = stepKind({
  name: 'request',
  summary: 'sends any request, malformed ones too',
  shape: {
    request: z
      .strictObject({
        method: z.string().min(1).optional().describe('Default GET, with a body POST.'),
        path: z
          .string()
          .regex(/^(\/|https?:\/\/|\{\{)/, 'must be a path such as /v1/jobs, or a whole URL')
          .describe('Path and query; or a whole URL, such as responses contain.'),
        body: AnyJson.optional().describe('Text is sent unchanged, anything else as JSON.'),
        bytes: orVariable(z.int().min(0).max(20_000_000), 'a whole number')
          .optional()
          .describe('Instead of body: the size of a JSON text.'),
        content_type: z.string().nullable().optional().describe('Default application/json with a body; null for none.'),
      })
      .describe('Method, path and body.'),
  },
  isRequest: true,
  needs: (step) => [
    ...(readOptions(step).path.startsWith('/_sandbox') ? (['control'] as const) : []),
    ...needsOfRequest(step),
  ],
  title: (step) => {
    const { method, path, body, bytes } = readOptions(step)
    return `${String(method ?? (body === undefined && bytes === undefined ? 'GET' : 'POST'))} ${path}`
  },
  run: ({ request: { method, path, body, bytes, content_type }, ...fields }, context) => {
    const text = bytes === undefined ? serializeBody(body) : `"${'x'.repeat(Math.max(0, bytes - 2))}"`
    const type = content_type === undefined && text !== null ? 'application/json' : content_type
    return context.request({
      method: method ?? (text === null ? 'GET' : 'POST'),
      path,
      body: text,
      headers: typeof type === 'string' ? { 'content-type': type } : {},
      fields,
    })
  },
})

function serializeBody(body: unknown): string | null {
  if (body === undefined) return null
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** Returns the options of a step whose variables are not filled in yet. */
function readOptions({ request }: StepData): { path: string; method?: unknown; body?: unknown; bytes?: unknown } {
  const options = isObject(request) ? request : {}
  return { ...options, path: String(options.path ?? '') }
}
