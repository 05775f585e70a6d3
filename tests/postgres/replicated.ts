/**
 * Two servers of which one replicates the other, each in a temporary folder and on a port of its own. Either can be killed,
 * promoted, started again with what it holds, or made a standby of the other.
 */
import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { EmbeddedPostgres } from './embedded.ts'
import { freePort } from './server.ts'

const run = promisify(execFile)

/** Flushed bytes survive the processes, if not the computer: nothing here waits for a disk. */
const flags = [
  ...['fsync=off', 'wal_level=replica', 'max_wal_senders=8', 'wal_keep_size=64MB', 'scram_iterations=1'],
  // What is copied and sent is little, and nothing is waited for that is not there yet.
  ...['wal_retrieve_retry_interval=100ms', 'max_wal_size=32MB', 'io_method=sync', 'max_connections=200'],
  ...['shared_buffers=64MB', 'autovacuum_naptime=10min'],
].flatMap((setting) => ['-c', setting])

export interface Member {
  readonly port: number
  /** With the password. */
  readonly url: string
  /** Resolves to null while it is down, or a standby. */
  timeline(): Promise<number | null>
  query<Row>(text: string): Promise<Row[]>
  /** Ends every process of it, as a computer that loses its power does. */
  kill(): Promise<void>
  /** Stops it as an administrator would. */
  stop(): Promise<void>
  /** Starts it again with what it holds: a primary as the primary that it was. */
  start(): Promise<void>
  /** Starts it with what it holds, as a standby that nothing is sent to. */
  startAsStandby(): Promise<void>
  /** The standbys that a commit waits for: `*` is any, an empty text none. */
  setSynchronous(names: string): Promise<void>
  /** Makes a standby the primary. As a failover manager does, it waits for no standby from then on. */
  promote(): Promise<void>
  /** Replaces what it holds by a copy of the other, and follows that one. */
  follow(other: Member): Promise<void>
}

export interface Replicated extends AsyncDisposable {
  /** Both servers in one URL. */
  readonly url: string
  /** The first primary. */
  readonly one: Member
  readonly other: Member
}

/** @param isSynchronous whether a commit waits until the standby has it */
export async function startReplicated({ isSynchronous }: { isSynchronous: boolean }): Promise<Replicated> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-replicated-'))
  // PostgreSQL runs as a user of its own where we are root.
  chmodSync(folder, 0o711)
  const one = createMember(join(folder, 'one'), await freePort())
  const other = createMember(join(folder, 'other'), await freePort())
  const end = async () => {
    await Promise.all([one, other].map((member) => member.kill()))
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await one.initialise()
    await one.start()
    await other.follow(one)
    if (isSynchronous) await one.setSynchronous('*')
  } catch (error) {
    await end()
    throw error
  }
  const url = `postgres://svc:secret@127.0.0.1:${one.port},127.0.0.1:${other.port}/svc`
  return { url, one, other, [Symbol.asyncDispose]: end }
}

interface Source extends Member {
  readonly data: string
}

function createMember(data: string, port: number): Source & { initialise(): Promise<void> } {
  const url = `postgres://svc:secret@127.0.0.1:${port}/svc`
  let running: InstanceType<typeof EmbeddedPostgres> | null = null
  const query = async <Row>(text: string) => (await onClient(url, (client) => client.query(text))).rows as Row[]
  const member = {
    ...{ data, port, url, query },
    async timeline() {
      if (running === null) return null
      const text = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END AS segment`
      const [row] = await query<{ segment: string | null }>(text)
      return row?.segment == null ? null : Number.parseInt(row.segment.slice(0, 8), 16)
    },
    async initialise() {
      await build(data, port).postgres.initialise()
      await member.start()
      await running!.createDatabase('svc')
      await member.stop()
    },
    async start() {
      const { postgres, ready } = build(data, port)
      await ready()
      running = postgres
    },
    async kill() {
      if (running === null) return
      const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
      const pids = [pid, ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)]
      for (const each of pids) signal(each, 'SIGKILL')
      await waitFor(async () => !pids.some((each) => isAlive(each)))
      // It would wait for the end of this process when the tests end.
      Reflect.set(running, 'process', undefined)
      running = null
    },
    async stop() {
      await running?.stop()
      running = null
    },
    async startAsStandby() {
      writeFileSync(join(data, 'standby.signal'), '')
      await member.start()
    },
    async setSynchronous(names: string) {
      await query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
      await query('SELECT pg_reload_conf()')
      const isSet = `SELECT WHERE current_setting('synchronous_standby_names') = '${names}'`
      await waitFor(async () => (await query(isSet)).length > 0)
    },
    async promote() {
      await query('SELECT pg_promote()')
      await member.setSynchronous('')
    },
    async follow(other: Source) {
      await member.stop()
      await copyServer(other, data)
      const { port: from } = other
      writeFileSync(
        join(data, 'postgresql.auto.conf'),
        `${readFileSync(join(other.data, 'postgresql.auto.conf'), 'utf8')}
primary_conninfo = 'host=127.0.0.1 port=${from} user=svc password=secret application_name=standby'\n`,
      )
      writeFileSync(join(data, 'standby.signal'), '')
      await own(data)
      await member.start()
      const state = "SELECT FROM pg_stat_replication WHERE state = 'streaming' AND application_name = 'standby'"
      await waitFor(async () => (await other.query(state)).length > 0)
    },
  }
  return member as Source & { initialise(): Promise<void> }
}

function build(databaseDir: string, port: number) {
  const log: string[] = []
  let isReady = () => {}
  const accepting = new Promise<void>((resolve) => {
    isReady = resolve
  })
  const keep = (line: unknown) => {
    log.push(String(line))
    if (log.length > 200) log.shift()
    if (/ready to accept (read-only )?connections/.test(String(line))) isReady()
  }
  const postgres = new EmbeddedPostgres({
    ...{ databaseDir, port, user: 'svc', password: 'secret', persistent: true, postgresFlags: flags },
    createPostgresUser: isRoot(),
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '--wal-segsize=1', '-c', 'scram_iterations=1'],
    onLog: keep,
    onError: keep,
  })
  return {
    postgres,
    /** A standby is ready when it can be read, which `start` does not know of. */
    async ready() {
      const ended = postgres.start().catch((error: unknown) => {
        throw new Error(`PostgreSQL did not start:\n${log.join('\n')}`, { cause: error })
      })
      await Promise.race([accepting, ended])
      ended.catch(() => {})
    },
  }
}

/** Copies the files of a running server, as pg_basebackup does. */
async function copyServer({ url, data: from }: Source, to: string): Promise<void> {
  rmSync(to, { recursive: true, force: true })
  await onClient(url, async (client) => {
    await client.query("SELECT pg_backup_start('standby', true)")
    for (const name of readdirSync(from)) {
      if (name === 'postmaster.pid' || name === 'postmaster.opts') continue
      cpSync(join(from, name), join(to, name), { recursive: true, filter: (path) => !path.endsWith('.tmp') })
    }
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
    writeFileSync(join(to, 'backup_label'), rows[0]!.labelfile)
  })
}

async function own(data: string): Promise<void> {
  chmodSync(data, 0o700)
  if (isRoot()) await run('chown', ['-R', 'postgres:postgres', data])
}

async function onClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

function isAlive(pid: number): boolean {
  // One that has ended and that nobody has waited for is still listed.
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
  for (const started = performance.now(); !(await isSo()); await pause(20)) {
    if (performance.now() - started > 60_000) throw new Error('a server did not do in a minute what it was asked to')
  }
}
