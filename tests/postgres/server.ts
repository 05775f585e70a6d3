/**
 * A PostgreSQL of its own for tests, in a temporary folder and on a free port, without what only a loss of power needs.
 * The tests of a run share it: each sandbox has a namespace of its own.
 */
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EmbeddedPostgres } from './embedded.ts'

export interface PostgresServer {
  /** With the password. */
  url: string
  port: number
  /** Stops it, and starts it again with what it holds: `fast` as an administrator would, `immediate` without a checkpoint, as after a crash. */
  restart(mode?: 'fast' | 'immediate'): Promise<void>
  stop(): Promise<void>
}

const flags = [
  ...['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off'],
  // Every sandbox opens several connections: thousands of rounds of hashing for each are most of its cost.
  ...['-c', 'scram_iterations=1', '-c', 'io_method=sync', '-c', 'wal_level=minimal', '-c', 'max_wal_senders=0'],
  ...['-c', 'max_connections=300', '-c', 'shared_buffers=64MB', '-c', 'autovacuum_naptime=10min'],
]

/**
 * @param isDurable whether commits wait for the disk, as in production
 * @param more further flags of the server
 */
export async function startPostgres({
  isDurable = false,
  flags: more = [] as readonly string[],
} = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-postgres-'))
  // PostgreSQL runs as a user of its own where we are root.
  chmodSync(folder, 0o711)
  const port = await freePort()
  const log: string[] = []
  const keep = (line: unknown) => {
    log.push(String(line))
    if (log.length > 200) log.shift()
  }
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'svc',
    password: 'secret',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '-c', 'scram_iterations=1'],
    postgresFlags: [...(isDurable ? flags.slice(6) : flags), ...more],
    onLog: keep,
    onError: keep,
  })
  try {
    await postgres.initialise()
    await postgres.start()
    await postgres.createDatabase('svc')
  } catch (error) {
    await postgres.stop().catch(() => {})
    rmSync(folder, { recursive: true, force: true })
    throw new Error(`PostgreSQL did not start:\n${log.join('\n')}`, { cause: error })
  }
  return {
    url: `postgres://svc:secret@127.0.0.1:${port}/svc`,
    port,
    async restart(mode = 'fast') {
      // As pg_ctl does it. What the library sends a moment later is less than that.
      if (mode === 'immediate') {
        const [pid] = readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')
        process.kill(Number(pid), 'SIGQUIT')
      }
      await postgres.stop()
      await postgres.start()
    },
    async stop() {
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Resolves to a free port below those that systems give to outgoing connections: one of these could take it before the server
 * listens, and while it is restarted.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 17_000)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
