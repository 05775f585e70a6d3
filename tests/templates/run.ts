import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

export const checkout = join(import.meta.dirname, '../..')

/** Runs a command and resolves with its stdout; rejects with everything it printed when its exit code is not 0. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { ...environment(), ...env }, maxBuffer: 64 * 1024 * 1024 }
    execFile(command, [...args], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const line = [command, ...args].join(' ')
      reject(new Error(`${line} in ${cwd} ended with ${error.code ?? error.signal}\n${stdout}\n${stderr}`))
    })
  })
}

/** Installs what a project declares, or a package into it. What npm has in its cache is not asked for again. */
export async function install(directory: string, ...packages: string[]): Promise<void> {
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages], directory)
}

/** The environment of a newcomer's shell: this Node first on the path, and no variables of npm or a test runner. */
export function environment(): Record<string, string> {
  const own = /^(npm_(?!config_registry$)|INIT_CWD$|NODE_ENV$|VITEST|SVC_|TEST$|MODE$|DEV$|PROD$|SSR$|BASE_URL$)/i
  const kept = Object.entries(process.env).filter(([name]) => !own.test(name)) as [string, string][]
  // A registry inside a network may have a certificate that only the system knows.
  const system = '/etc/ssl/certs/ca-certificates.crt'
  return {
    ...(existsSync(system) && { NODE_EXTRA_CA_CERTS: system }),
    ...Object.fromEntries(kept),
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
    NO_COLOR: '1',
  }
}
