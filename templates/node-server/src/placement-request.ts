/** Turns the page's request into the service's: the one place that decides which data leaves this server. */
import type { Consent } from './sessions.ts'

export const jobTypes = ['chat', 'code', 'image', 'voice', 'agent'] as const
export type JobType = (typeof jobTypes)[number]

/** The body of POST /v1/placements. */
export interface PlacementRequest {
  client_id: string
  session_id: string
  job_type: JobType
  prompt?: { topic?: string; text?: string }
  slot_hint?: { position?: string; max_width?: number; max_height?: number }
  overrides?: { allowed_formats: string[]; native_template_id?: string }
}

/** The slot position of each kind of work, and the formats that suit it. */
const surfaces: Record<JobType, Pick<PlacementRequest, 'slot_hint' | 'overrides'>> = {
  chat: { slot_hint: { position: 'below' }, overrides: { allowed_formats: ['native', 'banner'] } },
  code: {
    slot_hint: { position: 'sidebar', max_width: 300, max_height: 250 },
    overrides: { allowed_formats: ['banner'] },
  },
  image: { slot_hint: { position: 'between', max_width: 640 }, overrides: { allowed_formats: ['clip'] } },
  voice: { slot_hint: { position: 'above' }, overrides: { allowed_formats: ['banner', 'native'] } },
  agent: {
    slot_hint: { position: 'inline' },
    overrides: { allowed_formats: ['native'], native_template_id: 'list_item' },
  },
}

/**
 * Reads the page's body; null when it names no job type. The topic is sent only with consent to semantic targeting,
 * the text of the prompt only with consent to share it.
 */
export function placementRequest(
  body: unknown,
  ids: Pick<PlacementRequest, 'client_id' | 'session_id'>,
  { semantic_targeting, prompt_shared }: Consent['purposes'],
): PlacementRequest | null {
  const { job_type, prompt } = (body ?? {}) as { job_type?: JobType; prompt?: { topic?: unknown; text?: unknown } }
  if (job_type === undefined || !jobTypes.includes(job_type)) return null
  const { topic, text } = prompt ?? {}
  const shared = {
    ...(semantic_targeting && typeof topic === 'string' ? { topic: topic.slice(0, 200) } : {}),
    ...(prompt_shared && typeof text === 'string' ? { text: text.slice(0, 8_000) } : {}),
  }
  return { ...ids, job_type, ...(Object.keys(shared).length === 0 ? {} : { prompt: shared }), ...surfaces[job_type] }
}
