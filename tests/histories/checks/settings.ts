/** Settings: each change has a revision of its own, none that was acknowledged is lost, and a read sees what was acknowledged. */
import { type ActionOf, type History, isBefore, listDone, type Operation, pickKind } from '../history.ts'
import { describe } from '../known.ts'
import type { State } from '../state.ts'

interface Settings {
  config_revision: number
}

export function checkSettings(history: History, { revisions }: State): string[] {
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
    const read = reads.filter(({ action }) => action.project === project)
    problems.push(...checkOrder(project, acknowledged, read))
  }
  for (const { body, ...read } of reads) {
    const earlier = (changes.get(read.action.project) ?? []).find(
      (change) => change.body.config_revision > body.config_revision && change.ended + history.stale < read.called,
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
  project: string,
  changes: readonly (Operation<ActionOf<'settings'>> & { body: Settings })[],
  reads: readonly (Operation & { body: Settings })[],
): string[] {
  return changes.flatMap((change) => {
    const { config_revision: revision } = change.body
    const wrong =
      [...changes, ...reads].find((other) => other.body.config_revision > revision && isBefore(other, change)) ??
      changes.find((other) => other.body.config_revision === revision && other.action.change !== change.action.change)
    if (wrong === undefined) return []
    return [
      `settings of ${project}: ${describe(change)} has revision ${revision}, and ${describe(wrong)} ${wrong.body.config_revision}`,
    ]
  })
}
