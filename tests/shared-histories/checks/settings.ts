/** Settings: each change has a revision of its own, none that was acknowledged is lost, and a read sees what was acknowledged. */
import type { FinalState } from '../final-state.ts'
import { type ActionOf, type History, isBefore, listDone, type Operation, pickKind } from '../history.ts'
import type { Project } from '../projects.ts'
import { describe } from './known.ts'

/**
 * Nodes keep settings and keys, and are notified of changes. A node whose connection for notifications is dead without an end
 * keeps what it has for 4.5 s at most, until the second heartbeat without a response; a slow network adds its delay.
 */
const staleMs = 5_000

interface Settings {
  config_revision: number
}

export function checkSettings(history: History, { revisions }: FinalState): string[] {
  const changes = Map.groupBy(
    listDone<Settings, ActionOf<'settings'>>(pickKind(history, 'settings')),
    ({ action }) => action.project,
  )
  const reads = listDone<Settings, ActionOf<'read_settings'>>(pickKind(history, 'read_settings'))
  const problems: string[] = []
  for (const [project, acknowledged] of changes) {
    const final = revisions.get(project) ?? 0
    for (const { body, ...operation } of acknowledged) {
      if (body.config_revision > final) {
        problems.push(
          `settings of ${project} were at revision ${body.config_revision} for ${describe(operation)}, and are at ${final}`,
        )
      }
    }
    problems.push(...checkOrder(project, acknowledged))
  }
  for (const { body, ...read } of reads) {
    const earlier = (changes.get(read.action.project) ?? []).find(
      (change) => change.body.config_revision > body.config_revision && change.ended_ms + staleMs < read.called_ms,
    )
    if (earlier === undefined) continue
    problems.push(
      `${describe(read)} sees settings at revision ${body.config_revision}, and ${describe(earlier)} had ${earlier.body.config_revision} before`,
    )
  }
  return problems
}

/** A change that changes nothing has the revision before it. */
function checkOrder(
  project: Project,
  changes: readonly (Operation<ActionOf<'settings'>> & { body: Settings })[],
): string[] {
  return changes.flatMap((change) => {
    const { config_revision: revision } = change.body
    const wrong = changes.find(
      (other) =>
        (other.body.config_revision > revision && isBefore(other, change)) ||
        (other.body.config_revision === revision && other.action.latency_ms !== change.action.latency_ms),
    )
    if (wrong === undefined) return []
    return [
      `settings of ${project}: ${describe(change)} has revision ${revision}, and ${describe(wrong)} ${wrong.body.config_revision}`,
    ]
  })
}
