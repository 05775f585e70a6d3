/** A recording while it is made: exchanges are redacted and appended in turn, behind the requests that pass. */

import { createSecretMemory } from '#contract/recordings/secret-memory.ts'
import type { RequestDetail } from '#contract/resources/requests.ts'
import type { PassedExchange } from './exchange.ts'
import { recordEntry } from './recorded-entry.ts'
import type { RecordingFile } from './recording-file.ts'

export interface RecordingSummary {
  /** The file. */
  file: string
  exchanges: number
  /** By endpoint; `file` for media and scripts of the service, `other` for what is not of the API. */
  endpoints: Record<string, number>
  /** Bodies and exchanges that are not in the file, by reason. */
  left_out: Record<string, number>
}

export interface RecordingSession {
  add(passed: PassedExchange): void
  /** Counts a request that was not sent to the service. */
  countRefusal(): void
  /** Resolves when everything is written. */
  finish(): Promise<RecordingSummary>
}

interface SessionOptions {
  /** The origin of the service. */
  origin: string
  file: RecordingFile
  /** Called for each exchange that is in the file. */
  onEntry(detail: RequestDetail): void
  /** Called once when the file cannot be written: nothing is recorded after it. */
  onFailure(error: unknown): void
}

export function createSession({ origin, file, onEntry, onFailure }: SessionOptions): RecordingSession {
  const memory = createSecretMemory()
  const summary: RecordingSummary = { file: file.path, exchanges: 0, endpoints: {}, left_out: {} }
  let isBroken = false
  let last = Promise.resolve()

  const leaveOut = (reason: string) => {
    count(summary.left_out, reason)
    file.leaveOut(reason)
  }
  const write = async (passed: PassedExchange) => {
    const { detail, entry, endpoint, left_out } = await recordEntry(passed, origin, memory)
    file.append(entry)
    if (left_out !== null) leaveOut(left_out)
    summary.exchanges++
    count(summary.endpoints, endpoint ?? 'other')
    onEntry(detail)
  }
  const enqueue = (work: () => void | Promise<void>) => {
    last = last.then(async () => {
      if (isBroken) return
      try {
        await work()
      } catch (error) {
        isBroken = true
        onFailure(error)
      }
    })
  }

  return {
    add: (passed) =>
      enqueue(async () => {
        await write(passed)
        passed.request.release()
        passed.response?.body.release()
      }),
    countRefusal: () => enqueue(() => leaveOut('request_refused')),
    async finish() {
      await last
      file.close()
      return summary
    },
  }
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}
