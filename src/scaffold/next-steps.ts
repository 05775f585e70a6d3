/** What to type after a project is made, in the words of the package manager that is in use. */
const managers = ['npm', 'pnpm', 'yarn', 'bun'] as const
export type PackageManager = (typeof managers)[number]

/** The package manager named at the start of `npm_config_user_agent`, as `pnpm/10.2.0 npm/? node/v24.0.0 linux x64`; else npm. */
export function packageManager(user_agent: string | undefined): PackageManager {
  const name = user_agent?.split('/', 1)[0]
  return managers.find((manager) => manager === name) ?? 'npm'
}

/** The exact commands, in order: into the directory, install, test, and run it when it has something to run. */
export function nextSteps(
  manager: PackageManager,
  directory: string,
  scripts: Readonly<Record<string, string>>,
): string[] {
  const enter = directory === '.' ? [] : [`cd ${quoted(directory)}`]
  const run = (script: string) =>
    manager === 'npm' || manager === 'bun' ? `${manager} run ${script}` : `${manager} ${script}`
  // `bun test` is bun's own runner, not the script.
  const test = manager === 'bun' ? run('test') : `${manager} test`
  return [...enter, `${manager} install`, test, ...(scripts.dev === undefined ? [] : [run('dev')])]
}

/** A path as shells of every kind take it. */
function quoted(path: string): string {
  return /^[\w./\\~-]+$/.test(path) ? path : `"${path.replace(/[$`"]/g, '\\$&')}"`
}
