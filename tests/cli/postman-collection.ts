import { z } from 'zod'

const Field = z.strictObject({
  key: z.string().min(1),
  value: z.string(),
  description: z.string().optional(),
  disabled: z.literal(true).optional(),
})
const Bearer = z.strictObject({ key: z.literal('token'), value: z.string(), type: z.literal('string') })
const sent = {
  method: z.enum(['GET', 'POST']),
  header: z.array(Field),
  auth: z.union([
    z.strictObject({ type: z.literal('noauth') }),
    z.strictObject({ type: z.literal('bearer'), bearer: z.array(Bearer).length(1) }),
  ]),
  url: z.strictObject({
    raw: z.string().startsWith('{{base_url}}/'),
    host: z.tuple([z.literal('{{base_url}}')]),
    path: z.array(z.string().min(1)),
    query: z.array(Field).min(1).optional(),
  }),
  body: z
    .strictObject({
      mode: z.literal('raw'),
      raw: z.string(),
      options: z.strictObject({ raw: z.strictObject({ language: z.literal('json') }) }),
    })
    .optional(),
}
const PostmanItem = z.strictObject({
  name: z.string(),
  event: z
    .array(
      z.strictObject({
        listen: z.enum(['prerequest', 'test']),
        script: z.strictObject({ type: z.literal('text/javascript'), exec: z.array(z.string()).min(1) }),
      }),
    )
    .min(1),
  request: z.strictObject({ ...sent, description: z.string().min(1) }),
  response: z.array(
    z.strictObject({
      name: z.string(),
      originalRequest: z.strictObject(sent),
      status: z.enum(['OK', 'Created']),
      code: z.union([z.literal(200), z.literal(201)]),
      _postman_previewlanguage: z.literal('json'),
      header: z.array(Field),
      cookie: z.array(z.never()),
      body: z.string(),
    }),
  ),
})
/** What is used here of the schema of Postman collections, strictly: no other field, no other type of a variable. */
export const PostmanCollection = z.strictObject({
  info: z.strictObject({ name: z.string(), description: z.string(), schema: z.url() }),
  item: z.array(z.strictObject({ name: z.string(), description: z.string(), item: z.array(PostmanItem).min(1) })),
  variable: z.array(
    z.strictObject({
      key: z.string(),
      value: z.string(),
      type: z.enum(['string', 'boolean', 'any', 'number']),
      description: z.string(),
      secret: z.literal(true).optional(),
    }),
  ),
})
