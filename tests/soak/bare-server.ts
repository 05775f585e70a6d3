/** A server in a process of its own that only responds: what its clients wait for is the host. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface BareServer {
  url: string
  stop(): Promise<void>
}

const program = `
const server = require('node:http').createServer((request, response) => response.end('{}'))
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
process.once('disconnect', () => process.exit())`

/** Resolves when it listens. */
export async function startBareServer(): Promise<BareServer> {
  const child = spawn(process.execPath, ['--eval', program], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [port] = (await once(child, 'message')) as [number]
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}
