/** Frequency caps: those of a request, and those of a campaign. Each is a condition that must still hold when a fill is written. */
import { unitsMs } from '#foundation/duration.ts'
import type { CapGuard, JobRow, Store, StoredDecision } from '#store/store.ts'
import type { Markets } from './markets.ts'

/** Fills an hour, and in a session: in all, and in 24 hours. */
interface Caps {
  global_per_hour?: number | undefined
  session?: number | undefined
  user_per_day?: number | undefined
}

/** Returns the conditions that one more fill at `now_ms` must meet. @param campaign_id of which fills count; all without it */
export function guardFills(
  { project_id, session_id }: Pick<JobRow, 'project_id' | 'session_id'>,
  caps: Caps,
  now_ms: number,
  campaign_id?: string,
): CapGuard[] {
  const guards: CapGuard[] = []
  const add = (session: string | null, since_ms: number, most: number | undefined) => {
    if (most === undefined) return
    const guard = { kind: 'fills' as const, project_id, session_id: session, since_ms, most }
    guards.push(campaign_id === undefined ? guard : { ...guard, campaign_id })
  }
  add(null, now_ms - unitsMs.h, caps.global_per_hour)
  if (session_id === null) return guards
  add(session_id, 0, caps.session)
  add(session_id, now_ms - unitsMs.d, caps.user_per_day)
  return guards
}

/** Returns the frequency caps of a job, as the conditions that one more fill at `now_ms` must meet. */
export function listCaps(job: Pick<JobRow, 'id' | 'project_id' | 'session_id' | 'facts'>, now_ms: number): CapGuard[] {
  const { id: job_id, project_id, session_id } = job
  const cap = job.facts.frequency_cap
  if (cap === undefined) return []
  const guards = guardFills(job, cap, now_ms)
  if (session_id === null || cap.prompt_interval === undefined) return guards
  return [...guards, { kind: 'interval', project_id, session_id, job_id, jobs: cap.prompt_interval }]
}

/** Returns the caps of the campaigns that decisions of a job have chosen: they must still hold when the fills are written. */
export function listCampaignCaps(
  { markets }: { markets: Markets },
  job: JobRow,
  decisions: readonly (StoredDecision | null)[],
  now_ms: number,
): CapGuard[] {
  if (job.facts.force_campaign_id !== undefined) return []
  const { campaigns, positions } = markets.current
  const chosen = decisions.flatMap((each) => (each?.outcome.status === 'filled' ? [each.outcome.campaign_id] : []))
  return [...new Set(chosen)].flatMap((campaign_id) => {
    const campaign = campaigns[positions.get(campaign_id) ?? -1]
    return campaign?.caps === undefined ? [] : guardFills(job, campaign.caps, now_ms, campaign_id)
  })
}

/** Whether one of the caps is reached. @param fills_before fills of the same job that are not stored yet */
export async function isCapped(
  { store }: { store: Store },
  caps: readonly CapGuard[],
  fills_before: number,
): Promise<boolean> {
  for (const cap of caps) {
    const isReached =
      cap.kind === 'interval'
        ? await store.hasFillWithin(cap)
        : (await store.countFills(cap, cap.since_ms, cap.most)) + fills_before >= cap.most
    if (isReached) return true
  }
  return false
}
