/**
 * A container engine for tests: Podman's service, which speaks Docker's API, with a folder of its own for everything, and an
 * image of svc that needs no registry. Its containers have no control groups, so that it also runs inside a container.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { vi } from 'vitest'
import { wait_ms } from '../patience.ts'
import { install, run } from '../templates/run.ts'

export interface ContainerEngine extends AsyncDisposable {
  /** For Testcontainers, whose own helper container would come from a registry. */
  env: Record<string, string>
  /** Runs a command of podman; resolves with its stdout. */
  podman(...args: string[]): Promise<string>
}

/** Starts the engine in an empty folder. It ends with everything that it has started. */
export async function startEngine(directory: string): Promise<ContainerEngine> {
  const socket = join(directory, 'podman.sock')
  const env = {
    CONTAINERS_CONF: join(directory, 'containers.conf'),
    CONTAINERS_STORAGE_CONF: join(directory, 'storage.conf'),
  }
  const folder = (name: string) => JSON.stringify(join(directory, name))
  writeFileSync(env.CONTAINERS_CONF, `${containersConf}[network]\nnetwork_config_dir = ${folder('networks')}\n`)
  const driver = canOverlay(directory) ? 'overlay' : 'vfs'
  const storage = `driver = "${driver}"\ngraphroot = ${folder('store')}\nrunroot = ${folder('run')}\n`
  writeFileSync(env.CONTAINERS_STORAGE_CONF, `[storage]\n${storage}`)
  // Its mounts and its processes are its own: all of them end with it.
  const apart = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const script = 'mount -t tmpfs svc /sys/fs/cgroup && exec podman system service --time=0 "unix://$0"'
  const service = spawn('unshare', [...apart, 'sh', '-c', script, socket], { env: { ...process.env, ...env } })
  const ended = once(service, 'exit')
  await vi.waitFor(() => {
    if (!existsSync(socket)) throw new Error('The service of podman has no socket yet.')
  }, wait_ms)
  const podman = (...args: string[]) => run('podman', ['--url', `unix://${socket}`, ...args], directory)
  return {
    env: { DOCKER_HOST: `unix://${socket}`, TESTCONTAINERS_RYUK_DISABLED: 'true' },
    podman,
    async [Symbol.asyncDispose]() {
      await podman('rm', '--all', '--force', '--time', '0')
      // It ignores SIGTERM. What it started is killed with it.
      service.kill('SIGKILL')
      await ended
    },
  }
}

/** Whether layers can be mounted here: not inside a container whose own files are layers. Copies take longer. */
function canOverlay(directory: string): boolean {
  for (const name of ['lower', 'upper', 'work', 'merged'])
    mkdirSync(join(directory, 'probe', name), { recursive: true })
  const options = 'lowerdir=lower,upperdir=upper,workdir=work'
  const mount = ['mount', '-t', 'overlay', 'svc', '-o', options, 'merged']
  return spawnSync('unshare', ['--mount', ...mount], { cwd: join(directory, 'probe') }).status === 0
}

/** Limits as low as those of any computer: without the right to raise them, a container would not start. */
const containersConf = `[containers]
cgroups = "disabled"
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
`

/**
 * Makes an image as `deploy/sandbox.Containerfile` does, with this Node and what it links to in place of a base image.
 * Resolves with the folder that the package was installed in.
 */
export async function buildImage(
  { podman }: ContainerEngine,
  { directory, archive, name }: { directory: string; archive: string; name: string },
): Promise<string> {
  const root = join(directory, 'root')
  const app = join(root, 'app')
  for (const folder of ['app', 'tmp', 'data', 'proc', 'sys', 'dev', 'etc', 'usr/bin'])
    mkdirSync(join(root, folder), { recursive: true, mode: folder === 'data' || folder === 'tmp' ? 0o777 : 0o755 })
  const { stdout } = spawnSync('ldd', [process.execPath], { encoding: 'utf8' })
  for (const [library] of stdout.matchAll(/\/\S+/g)) {
    mkdirSync(join(root, dirname(library)), { recursive: true })
    copyFileSync(library, join(root, library))
  }
  copyFileSync(process.execPath, join(root, 'usr/bin/node'))
  writeFileSync(join(app, 'package.json'), '{"private":true}')
  await install(app, '--omit=dev', '--omit=optional', archive)
  const tar = join(directory, 'root.tar')
  await run('tar', ['-C', root, '-cf', tar, '.'], directory)
  const entry = ['/usr/bin/node', '/app/node_modules/svc-sandbox/bin/svc.js']
  const changes = [`ENTRYPOINT ${JSON.stringify(entry)}`, 'ENV SVC_HOME=/data', 'EXPOSE 4010', 'USER 1000:1000']
  await podman('import', ...changes.flatMap((change) => ['--change', change]), tar, name)
  return app
}
