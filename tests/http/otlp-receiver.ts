/** A receiver of OTLP over HTTP as JSON, which refuses what the specification of it does not have. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

const attribute = z.strictObject({
  key: z.string().min(1),
  value: z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ intValue: z.union([z.int(), z.string()]) }),
    z.strictObject({ doubleValue: z.number() }),
    z.strictObject({ boolValue: z.boolean() }),
  ]),
})
const counted = { attributes: z.array(attribute), droppedAttributesCount: z.literal(0) }
const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`))
const nanoseconds = z.string().regex(/^\d{19}$/)

const spanShape = z.strictObject({
  traceId: hex(32),
  spanId: hex(16),
  parentSpanId: hex(16).optional(),
  traceState: z.string().optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  ...counted,
  events: z.array(z.never()),
  droppedEventsCount: z.literal(0),
  links: z.array(z.looseObject({ traceId: hex(32), spanId: hex(16) })),
  droppedLinksCount: z.literal(0),
  status: z.strictObject({ code: z.int().min(0).max(2), message: z.string().optional() }),
  flags: z.int(),
})

const request = z.strictObject({
  resourceSpans: z.array(
    z.looseObject({
      resource: z.looseObject(counted),
      scopeSpans: z.array(z.looseObject({ scope: z.looseObject({ name: z.string() }), spans: z.array(spanShape) })),
    }),
  ),
})

export interface ReceivedSpan {
  name: string
  kind: number
  trace_id: string
  span_id: string
  /** Null for the first span of a trace. */
  parent_id: string | null
  links: string[]
  is_failed: boolean
  attributes: Record<string, unknown>
  duration_ns: bigint
}

export interface OtlpReceiver extends AsyncDisposable {
  url: string
  spans: ReceivedSpan[]
  resource: Record<string, unknown>
  /** Of the last request. */
  headers: IncomingHttpHeaders
  /** Bodies as they came. */
  texts: string[]
  /** What was wrong with a request. Expected to stay empty. */
  problems: string[]
}

export async function receiveOtlp(status = 200): Promise<OtlpReceiver> {
  const server = createServer(async (incoming, outgoing) => {
    let text = ''
    for await (const chunk of incoming.setEncoding('utf8')) text += chunk
    receiver.headers = incoming.headers
    receiver.texts.push(text)
    if (incoming.method !== 'POST' || incoming.url !== '/v1/traces') receiver.problems.push(`${incoming.url}`)
    if (incoming.headers['content-type'] !== 'application/json') receiver.problems.push('content-type')
    const parsed = request.safeParse(JSON.parse(text))
    if (!parsed.success) receiver.problems.push(z.prettifyError(parsed.error))
    else if (status === 200)
      for (const { resource, scopeSpans } of parsed.data.resourceSpans) {
        receiver.resource = readAttributes(resource.attributes)
        for (const { spans } of scopeSpans) receiver.spans.push(...spans.map(toReceived))
      }
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    resource: {},
    headers: {},
    texts: [],
    problems: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}

function toReceived(span: z.infer<typeof spanShape>): ReceivedSpan {
  return {
    name: span.name,
    kind: span.kind,
    trace_id: span.traceId,
    span_id: span.spanId,
    parent_id: span.parentSpanId ?? null,
    links: span.links.map(({ traceId }) => traceId),
    is_failed: span.status.code === 2,
    attributes: readAttributes(span.attributes),
    duration_ns: BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano),
  }
}

function readAttributes(attributes: readonly z.infer<typeof attribute>[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
