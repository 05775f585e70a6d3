/**
 * `svc-sandbox/testcontainers`, for Testcontainers 11 or later: a sandbox in a container, for suites that use it. Its
 * image is that of `deploy/sandbox.Containerfile` or `deploy/Containerfile`, or any other whose entry point is svc.
 */
import type { Readable } from 'node:stream'
import {
  AbstractStartedContainer,
  GenericContainer,
  getContainerRuntimeClient,
  RandomPortGenerator,
  type StartedTestContainer,
  Wait,
} from 'testcontainers'
import { type Client, createClient } from '#client/index.ts'
import { sendDirectly } from '#client/node-fetch.ts'
import type { Sandbox } from '#sandbox/index.ts'
import { requireRunner } from './runner-version.ts'

requireRunner('testcontainers')

/** The port in the container, and so the one that other containers of its network use: `http://ALIAS:4010`. */
const containerPort = 4010
/** How long the line of a start may take once the sandbox is ready. */
const lineTimeoutMs = 10_000

/** The fields that are used of the line of `svc start -o json`. */
interface Started {
  admin_token: string
  projects: readonly Sandbox['keys'][]
}

/** A sandbox in memory that accepts the well-known keys, in a container that is not started yet. */
export class SandboxContainer extends GenericContainer {
  readonly #options: string[] = []

  /** The same identifiers and decisions in every run. */
  withSeed(seed: number): this {
    this.#options.push('--seed', String(seed))
    return this
  }

  /** A scenario of the catalogue, active from the start on: `svc sandbox scenario list`. */
  withScenario(name: string): this {
    this.#options.push('--scenario', name)
    return this
  }

  /**
   * Resolves when the sandbox is ready. Frames and links contain the address by which this process reaches it, so that
   * is known before the start: a free port of this computer, not one that the container engine picks.
   * @throws Error with the last lines of the container when it has ended
   */
  override async start(): Promise<StartedSandboxContainer> {
    const { info } = await getContainerRuntimeClient()
    const port = await new RandomPortGenerator().generatePort()
    const url = `http://${info.containerRuntime.host}:${port}`
    this.withExposedPorts({ container: containerPort, host: port })
    this.waitStrategy ??= Wait.forHttp('/_sandbox/readyz', containerPort, { abortOnContainerExit: true })
    const hosts = this.networkAliases.flatMap((alias) => ['--allowed-host', alias])
    this.withCommand([...startCommand(url), ...hosts, ...this.#options])
    // Testcontainers lets the process end while it reads what a container that has ended printed.
    const alive = setInterval(() => {}, 1_000)
    try {
      const container = await super.start()
      return new StartedSandboxContainer(container, url, await readStarted(await container.logs()))
    } finally {
      clearInterval(alive)
    }
  }
}

/** A running sandbox. It ends with `stop()`, or at the end of an `await using` block. */
export class StartedSandboxContainer extends AbstractStartedContainer {
  /** By which this process and a browser of this computer reach it. */
  readonly url: string
  /** The keys of the first project, `proj_demo`. */
  readonly keys: Sandbox['keys']
  /** The SVC_* variables that let an app on this computer find it. */
  readonly env: Readonly<Record<string, string>>
  /** For the control plane, in the header `x-sandbox-token`. */
  readonly admin_token: string

  constructor(container: StartedTestContainer, url: string, { admin_token, projects: [project] }: Started) {
    super(container)
    if (project === undefined) throw new Error('The sandbox in the container has no project.')
    const { client_id, secret_key, live_secret_key, publishable_key } = project
    this.url = url
    this.keys = { client_id, secret_key, live_secret_key, publishable_key }
    this.admin_token = admin_token
    this.env = {
      SVC_BASE_URL: url,
      SVC_CLIENT_ID: client_id,
      SVC_SECRET_KEY: secret_key,
      SVC_PUBLISHABLE_KEY: publishable_key,
    }
  }

  /** Every operation of the API with the secret key, and of the control plane. */
  client(): Client {
    return createClient({
      base_url: this.url,
      credential: this.keys.secret_key,
      headers: { 'x-sandbox-token': this.admin_token },
      fetch: sendDirectly,
    })
  }
}

function startCommand(url: string): string[] {
  const address = ['--host', '0.0.0.0', '--port', String(containerPort), '--public-url', url]
  return ['start', ...address, '--ephemeral', '--allow-known-keys', '-o', 'json']
}

/** Resolves with the line that a start prints. @throws Error when there is none, as in an image of something else */
async function readStarted(logs: Readable): Promise<Started> {
  let text = ''
  const timer = setTimeout(() => logs.destroy(), lineTimeoutMs)
  try {
    for await (const chunk of logs) {
      text += String(chunk)
      const line = /^\{.*\}$/m.exec(text.replaceAll('\r', ''))?.[0]
      if (line !== undefined) return JSON.parse(line) as Started
    }
  } catch (error) {
    if (!logs.destroyed) throw error
  } finally {
    clearTimeout(timer)
    logs.destroy()
  }
  throw new Error(
    `The container did not print what svc start -o json prints. Is it an image of svc? deploy/sandbox.Containerfile builds one. It printed:\n${text}`,
  )
}
