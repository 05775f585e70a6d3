/**
 * Rate limits: a key gets no more responses than its bucket holds, and a bucket that has had time to fill refuses nothing.
 * Times are those of the responses, whole seconds of the sandbox clock.
 */
import type { Project } from '../steps/steps.ts'

export interface RateModel {
  /** Counts how often the buckets were forgotten: a request from before that says nothing of them. */
  readonly epoch: number
  /** Nothing is known of the buckets any more: the clock was moved, or a limit or the whole state was changed. */
  forget(): void
  /** Nothing is known of the limits either: they may be those of another state. */
  forgetLimits(): void
  setLimit(project: Project, text: string): void
  /** Notes a request with the secret key of a project. Returns what is wrong with its response. */
  note(project: Project, response: RatedResponse): string | null
}

interface RatedResponse {
  status: number
  at_ms: number
  reason: string | null
  /** Whether others were under way, of which one may have taken what the bucket had. */
  isOneOfMany: boolean
}

interface Limit {
  per_s: number
  burst: number
}

const defaultLimit: Limit = { per_s: 100, burst: 200 }
const units: Readonly<Record<string, number>> = { s: 1, min: 60 }

export function createRateModel(): RateModel {
  const limits = new Map<Project, Limit>()
  /** Of a project that has set none; null when that is not known. */
  let usual: Limit | null = defaultLimit
  const served = new Map<Project, number[]>()
  const sent = new Map<Project, number>()
  let epoch = 0
  return {
    get epoch() {
      return epoch
    },
    forget() {
      epoch++
      served.clear()
      sent.clear()
    },
    forgetLimits() {
      limits.clear()
      usual = null
    },
    setLimit(project, text) {
      const [count = '', unit = ''] = text.split('/')
      const number = Number(count)
      limits.set(project, { per_s: number / units[unit]!, burst: number === 1 ? 1 : 2 * number })
    },
    note(project, { status, at_ms, reason, isOneOfMany }) {
      const limit = limits.get(project) ?? usual
      if (limit === null) return null
      const { per_s, burst } = limit
      const last_ms = sent.get(project)
      sent.set(project, Math.max(at_ms, last_ms ?? 0))
      if (status === 429 && reason === 'rate_limited') {
        if (isOneOfMany) return null
        const quiet_s = last_ms === undefined ? 0 : (at_ms - last_ms) / 1_000 - 1
        return quiet_s * per_s >= 1 ? `${project} is refused although it sent nothing for ${quiet_s} s` : null
      }
      if (status >= 300) return null
      // In the order of their times: a poll is answered long after it was counted.
      const times = [...(served.get(project) ?? []), at_ms].sort((one, other) => one - other)
      served.set(project, times)
      for (const [first, since_ms] of times.entries()) {
        for (let last = first; last < times.length; last++) {
          const most = burst + (per_s * (times[last]! - since_ms + 1_000)) / 1_000
          const count = last - first + 1
          if (count > most) return `${project} got ${count} responses, and its limit allows ${Math.floor(most)}`
        }
      }
      return null
    },
  }
}
