/** What a browser saw of the integrator's page, as plain data. */
import type { Screenshot } from '../../../qa/result.ts'

export interface PageSeen {
  url: string
  /** Files that were served to the page by others than the service, and the secret keys in them. */
  files: number
  keys: readonly { file: string; line: number; key: string }[]
  /** Requests of the page that carried a secret key, whoever they went to. */
  key_requests: readonly { method: string; url: string; where: 'headers' | 'body' | 'url' }[]
  /** Every hosted frame that was in the page at some time. */
  mounts: readonly Mount[]
  /** What of the service the browser did not let in, and why. */
  blocked: readonly { url: string; why: string }[]
  /** Errors that render.js told, by their code. */
  renderer_errors: readonly string[]
  /** Errors on the console, and uncaught ones, that are about the service or come from its scripts. */
  console_errors: readonly string[]
  /** Sum of the layout shifts right after an ad came, changed its size or went, as browsers count them. */
  shift: number
  screenshot: Screenshot | null
}

export interface Mount {
  slot_id: string
  /** Which element it was: two of one slot are two mounts. */
  element: string
  /** The largest it was, CSS pixels. */
  width: number
  height: number
  /** Whether it was ever displayed, not hidden by a style. */
  is_shown: boolean
  /** How long at least half of it was in the window, milliseconds. */
  in_view_ms: number
  /** Visible text beside it that tells it for an ad; null when there was none. */
  label: string | null
  /** Distinct colours of its picture; null when none was taken. One: it is blank. */
  colors: number | null
}
