/** Which versions of the runners the fixtures need. A peer dependency cannot say it: npm would refuse the whole package. */
import { createRequire } from 'node:module'
import { join } from 'node:path'

const least = { vitest: '3.2', '@playwright/test': '1.49', testcontainers: '11.0' } as const

/** @throws Error in one line when the installed runner is older than the fixtures for it need */
export function requireRunner(name: Runner): void {
  const problem = runnerProblem(name, readManifest(`${name}/package.json`).version)
  if (problem !== null) throw new Error(problem)
}

type Runner = keyof typeof least

/** Returns why a version of a runner is too old; null when it is not. */
export function runnerProblem(name: Runner, version: string): string | null {
  if (!isOlder(version, least[name])) return null
  const adapter = name.replace('@', '').split('/')[0]!
  return `svc-sandbox/${adapter} needs ${name} ${least[name]} or later; this is ${version}.`
}

/** Reads a file of the runner that the package finds; of the project, where the package is only linked into it. */
function readManifest(file: string): { version: string } {
  const requires = [import.meta.url, join(process.cwd(), 'package.json')].map((from) => createRequire(from))
  const [require = requires[1]!] = requires.filter((each) => canResolve(each, file))
  return require(file)
}

function canResolve(require: NodeJS.Require, file: string): boolean {
  try {
    return require.resolve(file) !== ''
  } catch {
    return false
  }
}

function isOlder(version: string, needed: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = needed.split('.').map(Number)
  return major < neededMajor || (major === neededMajor && minor < neededMinor)
}
