/**
 * Spot checks of verified prefixes: some stretches of each, chosen at random, are verified again on each start. A change
 * of one entry in a large chain is found by chance alone, and for certain by `svc evidence verify --full`.
 */
import { genesis } from '#contract/resources/evidence.ts'
import { yieldToEventLoop } from '#runtime/event-loop.ts'
import { DamageWarning, type ProjectRow } from '#store/store.ts'
import { findPrefix, savePrefix, type VerifyServices } from './verified-prefix.ts'
import { findRowProblem } from './verify-rows.ts'

const stretches = 16
const entriesOfStretch = 128

/**
 * Verifies stretches of each verified prefix, and resolves to what is wrong with them. The prefix of a chain with a
 * problem is removed: the next verification reads all of it and names the first broken entry.
 * @param isEnded returns whether to stop, as the store is about to be closed
 */
export async function checkSpots(services: VerifyServices, isEnded: () => boolean): Promise<DamageWarning[]> {
  const warnings: DamageWarning[] = []
  for (const project of await services.store.listProjects()) {
    const prefix = await findPrefix(services, project)
    for (let stretch = 0; prefix !== null && stretch < stretches && !isEnded(); stretch++) {
      const after = Math.floor(services.platform.random() * Math.max(1, prefix.entries - entriesOfStretch))
      const problem = await stretchProblem(services, project, after)
      if (problem === null) continue
      await savePrefix(services, project, null)
      warnings.push(new DamageWarning(`The evidence of ${project.client_id} was changed. ${problem} ${advice}`))
      break
    }
  }
  return warnings
}

const advice = 'See where it begins: svc evidence verify --full'

async function stretchProblem(services: VerifyServices, project: ProjectRow, after: number): Promise<string | null> {
  const { client_id, id } = project
  const first = Math.max(0, after - 1)
  const rows = await services.store.listChainEntries(id, first, entriesOfStretch)
  let previous_hash = after === 0 ? genesis : null
  let expected = first + 1
  for (const row of rows) {
    if (row.seq !== expected++) return `Entry ${expected - 1} is gone.`
    if (previous_hash !== null) {
      const problem = await findRowProblem(services, { client_id, previous_hash }, row)
      if (problem !== null) return problem
    }
    previous_hash = row.hash
  }
  await yieldToEventLoop()
  return null
}
