/** The jobs and fills that a batch adds, which count towards the caps of its later writes. */
import type { FillGuard, IntervalGuard } from '../../store.ts'
import type { SessionName } from '../../writes/transaction.ts'
import { type Loaded, nameCap } from './load.ts'

interface AddedFill {
  project_id: number
  session_id: string | null
  job_id: number
  decided_at_ms: number
  campaign_id: string
}

export class AddedFills {
  private readonly loaded: Loaded
  private readonly fills: AddedFill[] = []
  private readonly jobs: (SessionName & { id: number })[] = []

  constructor(loaded: Loaded) {
    this.loaded = loaded
  }

  addFill(fill: AddedFill): void {
    this.fills.push(fill)
  }

  addJob(job: SessionName & { id: number }): void {
    this.jobs.push(job)
  }

  count(cap: FillGuard): number {
    const { project_id, session_id, since_ms, campaign_id } = cap
    const added = this.fills.filter(
      (fill) =>
        fill.project_id === project_id &&
        (session_id === null || fill.session_id === session_id) &&
        fill.campaign_id === (campaign_id ?? fill.campaign_id) &&
        fill.decided_at_ms >= since_ms,
    )
    return (this.loaded.fills.get(nameCap(cap)) ?? 0) + added.length
  }

  isWithin(interval: IntervalGuard): boolean {
    const { project_id, session_id, job_id } = interval
    const near = new Map(this.loaded.nearJobs.get(nameCap(interval))?.map(({ id, is_filled }) => [id, is_filled]))
    for (const job of this.jobs) {
      if (job.project_id === project_id && job.session_id === session_id) near.set(job.id, false)
    }
    for (const fill of this.fills) if (near.has(fill.job_id)) near.set(fill.job_id, true)
    const jobs = [...near].toSorted(([one], [other]) => one - other)
    const before = jobs.filter(([id]) => id < job_id).slice(-interval.jobs)
    const after = jobs.filter(([id]) => id > job_id).slice(0, interval.jobs)
    return [...before, ...after].some(([, is_filled]) => is_filled)
  }
}
