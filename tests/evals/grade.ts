/** Grades a folder: what its task's grader says, what `svc observe` finds, and whether what would bill was really seen. */
import type { Browser } from 'playwright-core'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import { judge } from '#diagnosis/observe.ts'
import { copyFolders } from './project.ts'
import type { Reason, Task, Verdict } from './task.ts'
import { GradingEnded, openTrial, type Trial } from './trial.ts'

/** Grades a copy of a folder. */
export async function grade(task: Task, folder: string, browser: () => Promise<Browser>): Promise<Verdict> {
  using project = copyFolders([folder])
  await using trial = await openTrial(task, project.directory, browser)
  await task.prepare?.(trial)
  await runGrader(task, trial)
  const { reasons, checks, pages, gate } = trial.found
  const beacons = await trial.beacons()
  const journal = await trial.journal()
  if (checks === 0) reasons.push({ code: 'nothing_graded', message: 'The grader looked at nothing.' })
  if (gate.refused.length > 0) {
    const message = `The project called the control plane of the sandbox: ${gate.refused.slice(0, 3).join(', ')}.`
    reasons.unshift({ code: 'control_plane_used', message })
  }
  if (task.sends_beacons !== true) reasons.unshift(...findForged(trial, beacons))
  const judged = (pages.length === 0 ? [null] : pages).flatMap((page) =>
    judge({ ...journal, is_ended: true, is_whole: true, page }),
  )
  const isIn = (id: string, rules: readonly string[] = []) => rules.includes(id)
  const violated = judged.filter(({ rule }) => !isIn(rule.id, task.ignored))
  const isError = ({ standing, rule }: (typeof judged)[number]) =>
    standing === 'error' || (standing === 'warning' && isIn(rule.id, task.strict))
  const errors = violated.filter(isError)
  reasons.push(
    ...errors.map(({ rule, findings }) => ({ code: `observe:${rule.id}`, message: findings[0]?.message ?? '' })),
  )
  const warnings = violated.filter((each) => each.standing === 'warning' && !isError(each)).map(({ rule }) => rule.id)
  return {
    task: task.name,
    passed: reasons.length === 0,
    reasons: withoutRepeats(reasons),
    billed: countBilled(beacons),
    warnings: [...new Set(warnings)],
  }
}

async function runGrader(task: Task, trial: Trial): Promise<void> {
  try {
    await task.grade(trial)
  } catch (error) {
    if (error instanceof GradingEnded) return
    trial.found.reasons.push({ code: 'broken', message: (error as Error).message.slice(0, 500) })
  }
}

/** What would bill must have been sent by a browser that the grader watched, for an ad that it showed in a page. */
function findForged({ found }: Trial, beacons: readonly BeaconItem[]): Reason[] {
  const { beacon_ids, pages, framed } = found
  const isOwn = ({ beacon_id }: BeaconItem) => beacon_id?.startsWith('grader_') === true && beacon_ids.has(beacon_id)
  const mounts = pages.flatMap((page) => page.mounts)
  const isUnseen = ({ slot_id }: BeaconItem) => {
    const own = mounts.filter((mount) => mount.slot_id === slot_id)
    return !framed.has(slot_id) || (own.length > 0 && own.every(({ hidden_by }) => hidden_by !== null))
  }
  const forged = beacons.find(({ beacon_id }) => !beacon_ids.has(beacon_id ?? ''))
  const unseen = beacons.find((beacon) => beacon.would_bill && !isOwn(beacon) && isUnseen(beacon))
  const reasons: Reason[] = []
  if (forged !== undefined) {
    const message = `A beacon ${forged.event} came from no browser: nobody saw what it reports.`
    reasons.push({ code: 'beacon_forged', message })
  }
  if (unseen !== undefined) {
    const message = `${unseen.event} of ${unseen.slot_id} would bill, and no page showed that ad.`
    reasons.push({ code: 'billed_unseen', message })
  }
  return reasons
}

function countBilled(beacons: readonly BeaconItem[]): Record<string, number> {
  const metrics = beacons.filter(({ would_bill }) => would_bill).map(({ metric }) => metric ?? 'unknown')
  return Object.fromEntries([...new Set(metrics)].map((name) => [name, metrics.filter((each) => each === name).length]))
}

function withoutRepeats(reasons: readonly Reason[]): Reason[] {
  return reasons.filter(({ code }, index) => reasons.findIndex((other) => other.code === code) === index)
}
