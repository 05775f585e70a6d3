/**
 * Global setup of `npm run test:postgres`: one PostgreSQL for the whole run, always stopped. With `POSTGRES_POOLER=session`
 * the sandboxes of tests/http reach it by way of a pooler.
 */
import { startPooler } from './pooler.ts'
import { startPostgres } from './server.ts'
import { pooledVariable, serverVariable } from './shared-store.ts'

export async function setup(): Promise<() => Promise<void>> {
  const server = await startPostgres()
  process.env[serverVariable] = server.url
  if (process.env.POSTGRES_POOLER !== 'session') return () => server.stop()
  const pooler = await startPooler(server, 'session', ['default_pool_size = 250', 'max_client_conn = 1000'])
  process.env[pooledVariable] = pooler.url
  return async () => {
    await pooler.stop()
    await server.stop()
  }
}
