/** Recordings for tests: the journal of a sandbox that stands in for the service, as a HAR file. */
import { type HarEntry, toHarEntry, writeHar } from '#contract/recordings/har.ts'
import type { RequestDetail } from '#contract/resources/requests.ts'
import type { SandboxOptions } from '#sandbox/index.ts'
import { type Stage, stage } from './stage.ts'

/** The address of the recorded service. */
export const service = 'https://ads.example/base'

/** Records what `use` does with a sandbox of its own. `change` sees every entry before it is written. */
export async function record(
  use: (on: Stage) => Promise<unknown>,
  { change = (entry) => entry, ...options }: SandboxOptions & { change?: (entry: HarEntry) => HarEntry | null } = {},
): Promise<string> {
  await using on = await stage({ seed: 7, ...options })
  await use(on)
  const { body } = await on.api.accept('requests.list', { query: { details: 'true', limit: 250 } })
  const entries = body.items.toReversed().map((item) => toHarEntry(item as RequestDetail, on.sandbox.url))
  return toRecording(
    entries.flatMap((entry) => change(entry) ?? []),
    on.sandbox.url,
  )
}

/** Returns the text of a file with these entries. @param address of what was recorded, which becomes that of the service */
export async function toRecording(entries: readonly object[], address = service): Promise<string> {
  let text = ''
  for await (const piece of writeHar(entries as HarEntry[], '1.0.0')) text += piece
  return text.replaceAll(address, service)
}

/** Options of a sandbox that plays, with no demand of its own: whatever fills is of the recording. */
export function playing(playback: string, more: SandboxOptions = {}): SandboxOptions {
  return { playback, demand: { revision: 1, partners: [], campaigns: [] }, max_age_ms: 1e15, ...more }
}
