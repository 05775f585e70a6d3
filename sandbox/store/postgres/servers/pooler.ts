/** Whether a connection is to one session of the server, or to a pooler that gives each transaction another one. */
import { randomBytes } from 'node:crypto'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { isConnectionFailure } from '../failures.ts'
import type { Link } from './link.ts'

const setText = "SELECT set_config('svc.connection', $1, false)"
const getText = "SELECT current_setting('svc.connection', true) AS value"

/**
 * Sets a value on two connections, and reads it in later transactions: behind a pooler that is not in session mode each of
 * them runs on whichever session is free, so one connection sees the value of the other, or none.
 * @throws SandboxError behind such a pooler
 */
export async function refusePooling(location: string, one: Link, other: Link): Promise<void> {
  const marks = new Map([one, other].map((link) => [link, randomBytes(8).toString('hex')]))
  const isItsOwn = async (link: Link) => (await readMark(link)) === marks.get(link)
  for (const [link, mark] of marks) {
    if (!(await setMark(link, mark))) return
  }
  // A free session is usually given to the next that asks for one; a transaction that is open keeps it from the other.
  const found = [await isItsOwn(one), await isItsOwn(one), await isItsOwn(other)]
  if (!found.includes(false)) {
    await other.client.query('BEGIN')
    found.push(await isItsOwn(other), await isItsOwn(one))
    await other.client.query('COMMIT')
  }
  if (!found.includes(false)) return
  throw new SandboxError(
    'database_unwritable',
    `${location} is a pooler that gives each transaction another connection, and a node needs its own: to listen, and for prepared statements.`,
    'Connect to PostgreSQL directly, or through a pool in session mode: in pgbouncer, pool_mode = session and a pool_size of at least 10 for each node.',
  )
}

/** Resolves to false where the engine knows no settings but its own. */
async function setMark({ client }: Link, mark: string): Promise<boolean> {
  try {
    await client.query(setText, [mark])
    return true
  } catch (error) {
    if (isConnectionFailure(error)) throw error
    return false
  }
}

async function readMark({ client }: Link): Promise<string | null> {
  const { rows } = await client.query<{ value: string | null }>(getText)
  return rows[0]?.value ?? null
}
