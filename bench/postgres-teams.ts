/** Teams of nodes, each node a process, with clients that are spread over the nodes and over projects. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { limitProcessor } from './processors.ts'

interface Node {
  url: string
  /** Of its control plane; missing with a file. */
  admin_token?: string
  child: ChildProcess
  /** Called once it has ended. */
  release(): void
}

/** One of the clients of a team: it sends to one node, for one project. */
export interface Client {
  node: Node
  client_id: string
  key: string
  /** Of a placement that its beacons are for. */
  asset_token: string
}

export interface Team {
  nodes: readonly Node[]
  clients: readonly Client[]
}

interface TeamOptions {
  /** The folder of the homes of nodes. */
  home: string
  clients: number
  projects: number
}

const demo = { client_id: 'proj_demo', key: 'sk_test_sandbox_demo' }

/** Returns functions that start nodes with the same arguments and their clients, and that limit and stop all nodes. */
export function createTeams({ home, clients, projects }: TeamOptions) {
  const started: Node[] = []
  const agent = new Agent({ keepAlive: true, maxSockets: clients * 2 })
  let sent = 0

  return { start, limit, stop, place, sendBeacon }

  async function start(size: number, words: readonly string[]): Promise<Team> {
    const nodes: Node[] = []
    while (nodes.length < size) nodes.push(await startNode(words))
    const known = [demo]
    while (known.length < projects) known.push(await createProject(nodes[0]!, `proj_${known.length}`))
    return {
      nodes,
      clients: await Promise.all(
        Array.from({ length: clients }, async (_, index) => {
          const client = { node: nodes[index % size]!, ...known[Math.floor(index / size) % projects]!, asset_token: '' }
          const { text } = await place(client)
          const { placement } = JSON.parse(text) as { placement: { asset_token: string } }
          return { ...client, asset_token: placement.asset_token }
        }),
      ),
    }
  }

  async function startNode(words: readonly string[]): Promise<Node> {
    const args = ['bin/svc.js', 'start', '--port', '0', '--rate-limit', 'off', ...words, '-o', 'json']
    const child = spawn(process.execPath, args, {
      env: { ...process.env, SVC_HOME: join(home, String(started.length)) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    // The notes of healthy nodes are not shown.
    let notes = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      notes += text
    })
    child.once('exit', (code) => {
      if (code !== 0) process.stderr.write(`svc ${args.join(' ')} ended with ${code}:\n${notes}`)
    })
    for await (const line of createInterface({ input: child.stdout! })) {
      const { url, admin_token } = JSON.parse(line) as Pick<Node, 'url' | 'admin_token'>
      const node = { url, child, release() {}, ...(admin_token === undefined ? {} : { admin_token }) }
      started.push(node)
      return node
    }
    throw new Error(`svc ${args.join(' ')} did not start`)
  }

  async function createProject(node: Node, client_id: string) {
    const { text } = await post(node, '/_sandbox/projects', { client_id })
    return { client_id, key: (JSON.parse(text) as { keys: { secret_key: string } }).keys.secret_key }
  }

  function place({ node, client_id, key }: Client) {
    return post(node, '/v1/placements', { client_id, session_id: `sess_${++sent % 500}`, job_type: 'chat' }, key)
  }

  function sendBeacon({ node, asset_token, key }: Client) {
    const beacon_id = `beacon-${process.pid}-${++sent}`
    const body = { beacon_id, asset_token, event: 'heartbeat', occurred_at_ms: Date.now() }
    return post(node, '/v1/beacons', body, key)
  }

  function post(
    { url, admin_token }: Node,
    path: string,
    body: unknown,
    key = '',
  ): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const token = admin_token === undefined ? {} : { 'x-sandbox-token': admin_token }
      const rights = key === '' ? token : { authorization: `Bearer ${key}` }
      const headers = { 'content-type': 'application/json', ...rights }
      const asked = request(`${url}${path}`, { method: 'POST', agent, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      asked.on('error', reject)
      asked.end(JSON.stringify(body))
    })
  }

  /** Lets every node use a share of one processor. */
  function limit(share: number): void {
    for (const node of started) node.release = limitProcessor(node.child.pid!, share)
  }

  async function stop(): Promise<void> {
    const ended = started.map(({ child }) => child.exitCode ?? once(child, 'exit'))
    for (const { child } of started) child.kill('SIGTERM')
    await Promise.all(ended)
    for (const { release } of started) release()
    agent.destroy()
  }
}
