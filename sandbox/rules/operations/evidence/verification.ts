/** Verifies evidence chains, from where an earlier verification ended. What takes long is done on a thread. */
import type { ProjectRow } from '#store/store.ts'
import { findPrefix, findPrefixProblem, savePrefix, type VerifyServices } from './verified-prefix.ts'
import { unreadableChain, type Verdict, type Verified, verifyRows } from './verify-rows.ts'

export async function verifyChains(services: VerifyServices, { isFull = false } = {}) {
  const chains = []
  for (const project of await services.store.listProjects()) chains.push(await verifyChainOf(services, project, isFull))
  return { ok: chains.every((chain) => chain.broken_at === null), chains }
}

/** Entries beyond the verified prefix from which a longer one is stored: to verify fewer takes some milliseconds. */
const prefixStep = 1_000

/** Entries from which a thread verifies them: its start costs as much as that many. */
const minThreadEntries = 4_000

/** Verifies the chain of a project, from its verified prefix on; a full verification reads all of it. */
export async function verifyChainOf(services: VerifyServices, project: ProjectRow, isFull = false) {
  const { client_id } = project
  try {
    const prefix = await findPrefix(services, project)
    const mismatch = prefix && (await findPrefixProblem(services, project, prefix))
    const continues = prefix !== null && mismatch === null && !isFull
    const before = continues ? { verified_before: prefix.entries } : {}
    const verdict = await verifyFrom(services, project, continues ? prefix : { entries: 0, head: null })
    const { entries, head, problem } = verdict
    // The first broken entry comes first.
    if (problem === null && mismatch !== null) return { client_id, ...verdict, ...mismatch }
    const isLonger = head !== null && entries >= (prefix?.entries ?? 0) + prefixStep
    if (problem === null && isLonger) await savePrefix(services, project, { entries, head })
    return { client_id, ...verdict, ...before }
  } catch (error) {
    return { client_id, ...unreadableChain({ entries: 0, head: null }, error) }
  }
}

async function verifyFrom(
  services: VerifyServices,
  project: ProjectRow,
  { entries, head }: Verified,
): Promise<Verdict> {
  const start = { entries, head }
  const { id, client_id } = project
  const path = services.store.findFile()
  const isLong = path !== null && (await services.store.findLastPosition(id)) - entries >= minThreadEntries
  return isLong
    ? services.verifyOnThread({ path, project: { id, client_id }, start })
    : verifyRows(services, project, start)
}
