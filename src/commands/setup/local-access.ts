/** What `svc mcp` gives agents of the user's computer: the files below the current folder. */
import { relative, resolve } from 'node:path'
import { openProjectFiles } from '#agent-files/project-files.ts'
import type { CommandContext } from '#cli/run/command.ts'
import { CliError } from '#cli/run/errors.ts'
import { unwritable } from '#cli/run/file-errors.ts'
import type { LocalAccess } from '#mcp/access.ts'

/** Returns the access to the current folder. An agent may follow a text from outside: it gets no path out of the folder. */
export function localAccess({ system }: CommandContext): LocalAccess {
  const files = openProjectFiles(system.cwd)
  return {
    async readText(file) {
      const text = files.read(requireInside(system.cwd, file))
      if (text !== null) return text
      throw new CliError(
        'usage',
        'file_unreadable',
        `${file} cannot be read: no such file.`,
        `It is looked for in ${system.cwd}.`,
      )
    },
    async writeText(file, text, { overwrite }) {
      const path = requireInside(system.cwd, file)
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
  }
}

/** Returns a path relative to the folder, with forward slashes. */
function requireInside(folder: string, file: string): string {
  const path = relative(folder, resolve(folder, file)).replaceAll('\\', '/')
  if (path !== '' && path !== '..' && !path.startsWith('../') && resolve(folder, path) === resolve(folder, file))
    return path
  const message = `${file} is outside of ${folder}, the folder of this server.`
  throw new CliError('usage', 'path_outside', message, 'Name a file in the folder, or give its text.')
}
