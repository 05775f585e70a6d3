/** The directory and name of a project, by the rules of npm and of every file system. */
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import validatePackageName from 'validate-npm-package-name'
import { ScaffoldError } from './templates.ts'

/** The directory and name of a project. */
export interface ProjectLocation {
  /** Absolute. */
  directory: string
  /** As you would type it in the current directory; `.` for that directory itself. */
  shown: string
  /** For `package.json`. */
  name: string
}

/** npm's limit. */
const maxNameLength = 214
const reservedOnWindows = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i
const forbiddenOnWindows = /[<>:"|?*\u0000-\u001f]|[. ]$/

/** Returns the place for DIR. Throws ScaffoldError `directory_outside` or `name_invalid`. */
export function locateProject(dir: string, cwd: string, fallback_name: string): ProjectLocation {
  const directory = resolve(cwd, dir)
  const shown = relative(cwd, directory)
  if (shown === '..' || shown.startsWith(`..${sep}`) || isAbsolute(shown)) {
    throw new ScaffoldError(
      'directory_outside',
      `${dir} is outside the current directory, ${cwd}.`,
      `Change into ${dirname(directory)} first, and give only ${basename(directory)}.`,
    )
  }
  if (shown === '') return { directory, shown: '.', name: slug(basename(directory)) ?? fallback_name }
  for (const part of shown.split(sep)) {
    const problem = problemOfFile(part)
    if (problem !== null) throw invalid(part, problem, fallback_name)
  }
  const name = basename(directory)
  const problem = findNameProblem(name)
  if (problem !== null) throw invalid(name, problem, fallback_name)
  return { directory, shown, name }
}

/** Returns why a project cannot have this name, in npm's words, or null. */
export function findNameProblem(name: string): string | null {
  const { errors = [], warnings = [] } = validatePackageName(name)
  if (name === 'svc-sandbox') return 'a project cannot depend on a package with its own name'
  // npm only warns about problems that it still accepts in names of old packages.
  return [...errors, ...warnings][0]?.replace('can no longer', 'cannot') ?? null
}

function problemOfFile(part: string): string | null {
  if (reservedOnWindows.test(part)) return 'Windows reserves it for a device'
  if (forbiddenOnWindows.test(part)) return 'Windows does not allow such a file name'
  return null
}

function invalid(name: string, problem: string, fallback_name: string): ScaffoldError {
  const better = slug(name) ?? `my-${fallback_name}`
  return new ScaffoldError(
    'name_invalid',
    `A project cannot be called ${JSON.stringify(name)}: ${problem}.`,
    `Take another name, for example ${better}.`,
  )
}

/** Returns the nearest valid name, or null. */
function slug(text: string): string | null {
  const name = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|(?<![._-])[._-]+$/g, '')
    .slice(0, maxNameLength)
  return findNameProblem(name) === null && problemOfFile(name) === null ? name : null
}
