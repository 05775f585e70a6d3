/** What `svc agent mcp` gives agents of the user's computer: the files below the current folder, recordings and a browser. */
import { isAbsolute, parse, relative, resolve, sep } from 'node:path'
import { openProjectFiles } from '#agent-files/project-files.ts'
import { durationMs } from '#cli/endpoint/option-values.ts'
import type { CommandContext } from '#cli/run/command.ts'
import { unwritable } from '#cli/run/file-errors.ts'
import type { System } from '#cli/run/system.ts'
import { readUserBytes } from '#cli/run/user-file.ts'
import type { Settings } from '#cli/settings/settings.ts'
import { withoutUndefined } from '#foundation/json.ts'
import type { LocalAccess } from '#mcp/access.ts'
import { CliError } from '#text/cli-error.ts'

/**
 * Returns the access to the current folder. An agent may follow a text from outside: it gets no path out of the folder.
 * `settings` resolves to those of now: a sandbox may have been started since.
 */
export function localAccess(context: CommandContext, settings: () => Promise<Settings>): LocalAccess {
  const { system } = context
  const files = openProjectFiles(system.cwd)
  const inside = (file: string) => requireInside(requireProject(system), file)
  /** Returns the real path of a file that a command reads. */
  const located = (file: string | undefined) => (file === undefined ? undefined : files.locate(inside(file)))
  return {
    async readBytes(file) {
      const path = inside(file)
      if (files.has(path)) return readUserBytes(system, files.locate(path))
      const hint = `It is looked for in ${system.cwd}.`
      throw new CliError('usage', 'file_unreadable', `${file} cannot be read: no such file.`, hint)
    },
    observeFile: async () => (await import('../qa/observe-file.ts')).loadProjectFile(context),
    async writeText(file, text, { overwrite }) {
      const path = inside(file)
      if (!overwrite && files.has(path)) {
        throw new CliError('usage', 'file_exists', `${file} exists.`, 'Give another name, or force to replace it.')
      }
      try {
        files.write(path, text)
      } catch (error) {
        throw unwritable(file, error, 'Check the directory, its permissions and the free space.')
      }
      return resolve(system.cwd, path)
    },
    async checkDemand(file) {
      const { checkDemandFile } = await import('../demand.ts')
      return checkDemandFile(system, files.locate(inside(file)))
    },
    async compare({ file, with: other, overrides, strict = false }, signal) {
      const { compareRecordings } = await import('../contract/compare.ts')
      const given = { with: located(other), overrides: located(overrides), strict }
      return compareRecordings({ ...context, signal }, files.locate(inside(file)), given)
    },
    async tryHosts({ steps, filter_list, for: span, ...given }, signal) {
      const { tryConditions } = await import('../qa/hosts.ts')
      const paths = withoutUndefined({ steps: located(steps), filterList: located(filter_list) })
      const patience = span === undefined ? {} : { for: durationMs(span) }
      return tryConditions({ ...context, settings: await settings() }, { ...given, ...paths, ...patience }, signal)
    },
  }
}

/** Returns the current folder. A whole disk or home is no project: agents that are not opened in one start servers there. */
function requireProject({ cwd, home }: Pick<System, 'cwd' | 'home'>): string {
  if (cwd !== parse(cwd).root && cwd !== resolve(home)) return cwd
  const message = `The folder of this server is ${cwd}, which is no project: it reads and writes no file there.`
  throw new CliError(
    'usage',
    'path_outside',
    message,
    'Start svc agent mcp in the folder of a project, or give a text.',
  )
}

/** Returns a path relative to the folder, with forward slashes. */
function requireInside(folder: string, file: string): string {
  const path = relative(folder, resolve(folder, file)).split(sep).join('/')
  // On another drive, the relative path of a file is absolute.
  if (path !== '' && path !== '..' && !path.startsWith('../') && !isAbsolute(path)) return path
  const message = `${file} is outside of ${folder}, the folder of this server.`
  throw new CliError('usage', 'path_outside', message, 'Name a file in the folder, or give its text.')
}
