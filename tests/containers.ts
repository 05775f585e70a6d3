/** Whether this computer can run containers for tests: `.ci/install-containers` installs what runs them. */
import { spawnSync } from 'node:child_process'

/** Returns why this computer cannot run containers for tests, or null. */
export function findContainerObstacle(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'they need Linux, and root'
  if (spawnSync('podman', ['--version']).status !== 0) return 'podman is not installed'
  const mount = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'svc', '/sys/fs/cgroup'])
  return mount.status === 0 ? null : `this computer does not let them mount: ${String(mount.stderr)}`
}
