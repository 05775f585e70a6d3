/** Global setup of `npm run test:postgres`: one PostgreSQL for the whole run, always stopped. */
import { startPostgres } from './server.ts'
import { serverVariable } from './shared-store.ts'

export async function setup(): Promise<() => Promise<void>> {
  const server = await startPostgres()
  process.env[serverVariable] = server.url
  return () => server.stop()
}
