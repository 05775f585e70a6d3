/** A pooler before a PostgreSQL of the tests: pgbouncer, where `.ci/install-pooler` has installed it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { poolerProgram } from './find-pooler.ts'
import { freePort } from './server.ts'

export type PoolMode = 'session' | 'transaction' | 'statement'

export interface Pooler extends AsyncDisposable {
  /** That of the server, by way of the pooler. */
  readonly url: string
  /** Kills it, and starts it again on its port. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** @param settings further lines of its configuration */
export async function startPooler(
  server: { url: string },
  pool_mode: PoolMode,
  settings: readonly string[] = [],
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pooler-'))
  const port = await freePort()
  const to = new URL(server.url)
  const config = join(folder, 'pgbouncer.ini')
  const users = join(folder, 'users.txt')
  writeFileSync(users, `"${to.username}" "${to.password}"\n`)
  writeFileSync(
    config,
    `[databases]
* = host=${to.hostname} port=${to.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = ${pool_mode}
default_pool_size = 40
${settings.join('\n')}
`,
  )
  // It refuses to run as root, and reads its files as the user that it becomes.
  chmodSync(folder, 0o755)
  let end = await startProgram(config, port)
  const stop = async () => {
    await end()
    rmSync(folder, { recursive: true, force: true })
  }
  to.port = String(port)
  return {
    url: to.href,
    async restart() {
      await end()
      end = await startProgram(config, port)
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Resolves to the function that kills it. */
async function startProgram(config: string, port: number): Promise<() => Promise<void>> {
  const isRoot = process.getuid?.() === 0
  const child = spawn(poolerProgram!, [...(isRoot ? ['-u', 'nobody'] : []), config], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const ended = once(child, 'close')
  const end = async () => {
    child.kill('SIGKILL')
    await ended
  }
  for (let attempt = 1; !(await isListening(port)); attempt++) {
    if (attempt < 500 && child.exitCode === null) await pause(20)
    else {
      await end()
      throw new Error(`pgbouncer did not start:\n${log}`)
    }
  }
  return end
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
