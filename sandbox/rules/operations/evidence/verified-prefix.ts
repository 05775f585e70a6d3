/**
 * The verified prefix of a chain: how far it was verified before, with the hash of its last entry. A verification
 * continues from it. It is stored with the project, so a snapshot, a reset and an import take theirs along, and it is
 * signed with the key of the install, so one of another install counts for nothing. A chain that was cut off, or written
 * again from its first entry, does not match it. A change below it is found by a full verification, and by spot checks.
 */
import { isObject, parseJson } from '#foundation/json.ts'
import type { ProjectRow } from '#store/store.ts'
import type { Services } from '../context.ts'

export type VerifyServices = Pick<Services, 'store' | 'platform' | 'report' | 'verifyOnThread'>

/** `entries` is the position of the last entry that was verified, `head` its hash. */
interface VerifiedPrefix {
  entries: number
  head: string
}

/** Resolves to the verified prefix of a project's chain; null when there is none that this install has signed. */
export async function findPrefix(services: VerifyServices, project: ProjectRow): Promise<VerifiedPrefix | null> {
  const text = await services.store.findVerifiedPrefix(project.id)
  const record = text === null ? null : parseJson(text)
  if (!isObject(record)) return null
  const { entries, head, signature } = record
  if (!Number.isSafeInteger(entries) || typeof head !== 'string') return null
  const prefix = { entries: Number(entries), head }
  return signature === signPrefix(services, project, prefix) ? prefix : null
}

/**
 * Stores how far a chain was verified; null removes it. It only saves time: a database that refuses the write does not
 * change the verdict.
 */
export async function savePrefix(
  services: VerifyServices,
  project: ProjectRow,
  prefix: VerifiedPrefix | null,
): Promise<void> {
  const signature = prefix && signPrefix(services, project, prefix)
  if (prefix !== null && signature === null) return
  const record = prefix && { ...prefix, text: JSON.stringify({ ...prefix, signature }) }
  await services.store.saveVerifiedPrefix(project.id, record).catch(services.report)
}

/** Returns the signature of a prefix; null with a seed, since anyone can sign with a key that follows from it. */
function signPrefix({ platform }: VerifyServices, { client_id }: ProjectRow, { entries, head }: VerifiedPrefix) {
  if (platform.seed !== null) return null
  return platform.signPublicly(JSON.stringify({ client_id, entries, head, kind: 'verified', v: 1 })).signature
}

/** Resolves to where a chain does not match its prefix, and why; null when it does. */
export async function findPrefixProblem(
  { store }: VerifyServices,
  project: ProjectRow,
  { entries, head }: VerifiedPrefix,
): Promise<{ broken_at: number; problem: string } | null> {
  const [row] = await store.listChainEntries(project.id, entries - 1, 1)
  if (row === undefined) {
    const last = await store.findLastPosition(project.id)
    const problem = `The chain ends with entry ${last}, but was verified up to entry ${entries} before: its end was cut off.`
    return { broken_at: last + 1, problem }
  }
  if (row.seq === entries && row.hash === head) return null
  const problem = `Entry ${entries} has another hash than when the chain was verified before: it was written again.`
  return { broken_at: entries, problem }
}
