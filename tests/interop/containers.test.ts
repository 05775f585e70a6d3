/** `svc-sandbox/testcontainers` with the real Testcontainers and real containers. Left out where there can be none. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { checkout, run } from '../templates/run.ts'
import { buildImage, type ContainerEngine, startEngine } from './container-engine.ts'
import { installTools } from './tools.ts'

const image = 'localhost/svc-sandbox:test'
let directory: string
let engine: ContainerEngine
/** A project with the packed package and Testcontainers. */
let project: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'containers-'))
  const packed = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory], checkout)
  engine = await startEngine(directory)
  const archive = join(directory, packed.trim().split('\n').at(-1)!)
  const app = await buildImage(engine, { directory, archive, name: image })
  project = join(directory, 'project')
  mkdirSync(project)
  cpSync(join(app, 'node_modules'), join(project, 'node_modules'), { recursive: true })
  const tools = await installTools(dirname(inject('tools')), {}, join(import.meta.dirname, 'testcontainers-tools.json'))
  for (const name of readdirSync(join(tools, 'node_modules')).filter((name) => !name.startsWith('.')))
    symlinkSync(join(tools, 'node_modules', name), join(project, 'node_modules', name))
})

afterAll(async () => {
  await engine?.[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
})

/** Runs a program of the project; resolves with the JSON that it prints. */
async function runProgram(text: string): Promise<unknown> {
  writeFileSync(join(project, 'program.mjs'), `import { SandboxContainer } from 'svc-sandbox/testcontainers'\n${text}`)
  return JSON.parse(await run(process.execPath, ['program.mjs'], project, engine.env))
}

test('a container has keys, a client, its seed and its scenario, and ends with its block', async () => {
  const turn = `
async function turn() {
  await using sandbox = await new SandboxContainer('${image}').withSeed(1).withScenario('banner_ok').start()
  const { keys, url, env } = sandbox
  const body = { client_id: keys.client_id, session_id: 's1', job_type: 'chat' }
  const client = sandbox.client()
  const { slot_id, placement } = await client.placements.create({ body })
  const frame = await fetch(placement.render.frame_url)
  const { items } = await client.placements.list()
  return { slot_id, format: placement.format, frame: frame.status, listed: items.length, isOwn: placement.render.frame_url.startsWith(url), env: env.SVC_BASE_URL === url }
}`
  const made = { slot_id: expect.any(String), format: 'banner', frame: 200, listed: 1, isOwn: true, env: true }
  const turns = (await runProgram(`${turn}\nconsole.log(JSON.stringify(await Promise.all([turn(), turn()])))`)) as {
    slot_id: string
  }[]
  expect(turns).toEqual([made, made])
  // Identifiers are counted with a seed. Testcontainers asks for health until there is a response, and each request counts.
  for (const { slot_id } of turns) expect(slot_id).toMatch(/^slot_0000000000\w$/)
  expect(await engine.podman('ps', '--all', '--quiet')).toBe('')
})

test('another container of its network reaches it by its alias', async () => {
  const status = await runProgram(`
import { Network } from 'testcontainers'
await using network = await new Network().start()
await using sandbox = await new SandboxContainer('${image}').withNetwork(network).withNetworkAliases('ads').start()
await using other = await new SandboxContainer('${image}').withNetwork(network).start()
const script = "fetch('http://ads:4010/_sandbox/readyz').then(({ status }) => console.log(status))"
const { output } = await other.exec(['/usr/bin/node', '-e', script])
console.log(output)
`)
  expect(status).toBe(200)
})

test('the lines of the guide for other languages start one that responds, and prints what they wait for', async () => {
  const result = await runProgram(`
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers'
const { info } = await getContainerRuntimeClient()
await using sandbox = await new GenericContainer('${image}')
  .withCommand(['start', '--host', '0.0.0.0', '--ephemeral'])
  .withEnvironment({ SVC_ALLOW_KNOWN_KEYS: '1', SVC_ALLOWED_HOST: info.containerRuntime.host })
  .withExposedPorts(4010)
  .withWaitStrategy(Wait.forHttp('/_sandbox/readyz', 4010))
  .start()
const response = await fetch('http://' + sandbox.getHost() + ':' + sandbox.getMappedPort(4010) + '/v1/placements', {
  method: 'POST',
  headers: { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' },
  body: JSON.stringify({ client_id: 'proj_demo', session_id: 's1', job_type: 'chat' }),
})
let text = ''
// On a busy computer Podman sometimes ends a log without a word.
const alive = setInterval(() => {}, 1_000)
for (let attempt = 0; attempt < 5 && !text.includes('admin token'); attempt++) {
  const read = (async () => {
    for await (const chunk of await sandbox.logs()) if ((text += chunk).includes('admin token')) break
  })()
  await Promise.race([read, new Promise((resolve) => setTimeout(resolve, 5_000))])
}
clearInterval(alive)
if (!text.includes('admin token')) throw new Error('The start printed: ' + text)
console.log(response.status)
`)
  expect(result).toBe(200)
})

test('a container that ends says why', async () => {
  const message = await runProgram(`
const problem = await new SandboxContainer('${image}').withScenario('nothing').start().catch(({ message }) => message)
console.log(JSON.stringify(problem))
`)
  expect(message).toContain('There is no scenario named nothing.')
})
