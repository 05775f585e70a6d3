/** The recording of a file that another program wrote: without what its exchanges authenticated with, which no pattern finds. */
import { z } from 'zod'
import { readHarText } from '#contract/recordings/har-text.ts'
import { locate, type RecordedExchange, type Recording, readRecording } from '#contract/recordings/recording.ts'
import { mapJson } from '#foundation/json/walk.ts'
import { parseAnyJson } from '#foundation/json.ts'
import { createCaptures } from './capture.ts'
import type { PassedExchange } from './exchange.ts'
import { learnExchange, replaceInPath } from './recorded-entry.ts'
import { createSecretMemory, type SecretMemory } from './secret-memory.ts'

const Pair = z.object({ name: z.string(), value: z.string() })
const headers = z
  .array(z.unknown())
  .catch([])
  .transform((listed) => listed.flatMap((each) => Pair.safeParse(each).data ?? []))
const body = z.record(z.string(), z.unknown()).nullish().catch(null)
const Entry = z.object({
  request: z.object({ method: z.string(), url: z.url(), headers, postData: body, _content: body }),
  response: z
    .object({ status: z.coerce.number().catch(0), headers, content: body })
    .nullish()
    .catch(null),
})
const File = z.object({ log: z.object({ entries: z.array(z.unknown()) }) })

/**
 * Resolves to the recording of a HAR file. What an exchange of the API authenticated with is replaced in all of them, as `svc record` does.
 * @throws RecordingError when it is not JSON, or not HAR
 */
export async function readForeignRecording(text: string): Promise<Recording> {
  const recording = readRecording(text)
  const memory = createSecretMemory()
  for (const entry of File.safeParse(parseAnyJson(text)).data?.log.entries ?? []) {
    const read = Entry.safeParse(entry).data
    if (read !== undefined && locate(read.request.method, read.request.url) !== null) await learnEntry(memory, read)
  }
  return { ...recording, exchanges: recording.exchanges.map((exchange) => withoutLearnt(memory, exchange)) }
}

async function learnEntry(memory: SecretMemory, { request, response }: z.infer<typeof Entry>): Promise<void> {
  const { origin, pathname, search } = new URL(request.url)
  const passed: PassedExchange = {
    ...{
      at_ms: 0,
      method: request.method,
      path: pathname + search,
      http_version: '1.1',
      duration_ms: 0,
      problem: null,
    },
    request_headers: listHeaders(request.headers),
    request: capture(readHarText(request.postData) ?? readHarText(request._content)),
    response: response
      ? {
          ...{ status: response.status, status_text: '', wait_ms: 0, headers: listHeaders(response.headers) },
          body: capture(readHarText(response.content)),
        }
      : null,
  }
  await learnExchange(passed, origin, memory)
}

/** Bodies are in the file without their compression. */
function listHeaders(named: readonly { name: string; value: string }[]): string[] {
  return named.flatMap(({ name, value }) => (name.toLowerCase() === 'content-encoding' ? [] : [name, value]))
}

function capture(text: string | null) {
  const bytes = Buffer.from(text ?? '')
  const opened = createCaptures().open(bytes.length)
  opened.add(bytes)
  return opened
}

function withoutLearnt(memory: SecretMemory, exchange: RecordedExchange): RecordedExchange {
  const hide = <Value>(value: Value): Value =>
    mapJson(value, (each) => (typeof each === 'string' ? memory.replace(each) : each)) as Value
  const { params, query, request_headers, request_body, response_headers, response_body } = exchange
  return {
    ...exchange,
    path: replaceInPath(memory, exchange.path),
    ...hide({ params, query, request_headers, request_body, response_headers }),
    response_body: response_body === null || 'base64' in response_body ? response_body : hide(response_body),
    session_id: hide(exchange.session_id),
  }
}
