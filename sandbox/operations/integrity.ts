import type { Contract } from '../../src/contract/index.ts'
import type { Operation } from './context.ts'
import { verifyChains } from './evidence.ts'

/** GET /_sandbox/integrity: the database by itself, then what the evidence says of its rows. */
export const checkIntegrity: Operation<Contract['sandbox.integrity']> = async (services) => {
  const problems = await services.store.integrityProblems()
  const database = { ok: problems.length === 0, problems }
  const evidence = await verifyChains(services)
  return { ok: database.ok && evidence.ok, database, evidence }
}
