/** Which names a project and its directory may have: npm's rules, and those of every file system. */
import { isBuiltin } from 'node:module'
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { ScaffoldError } from './scaffold-error.ts'

/** Where a project goes, and what it is called. */
export interface ProjectPlace {
  /** Absolute. */
  directory: string
  /** As a person types it from the current directory; `.` for that itself. */
  shown: string
  /** For `package.json`. */
  name: string
}

const longestName = 214
const reservedOnWindows = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i
const forbiddenOnWindows = /[<>:"|?*\u0000-\u001f]|[. ]$/

/** Reads DIR, which lies in the current directory. Throws ScaffoldError `directory_outside` or `name_invalid`. */
export function placeOf(dir: string, cwd: string, fallback_name: string): ProjectPlace {
  const directory = resolve(cwd, dir)
  const shown = relative(cwd, directory)
  if (shown === '..' || shown.startsWith(`..${sep}`) || isAbsolute(shown)) {
    throw new ScaffoldError(
      'directory_outside',
      `${dir} is outside of the current directory, ${cwd}.`,
      `Change into ${dirname(directory)} first, and give ${basename(directory)} alone.`,
    )
  }
  if (shown === '') return { directory, shown: '.', name: slug(basename(directory)) ?? fallback_name }
  for (const part of shown.split(sep)) {
    const problem = problemOfFile(part)
    if (problem !== null) throw invalid(part, problem, fallback_name)
  }
  const name = basename(directory)
  const problem = problemOfName(name)
  if (problem !== null) throw invalid(name, problem, fallback_name)
  return { directory, shown, name }
}

/** Why npm would refuse a package of this name, or null. */
export function problemOfName(name: string): string | null {
  if (name === '') return 'it is empty'
  if (name.length > longestName) return `it is longer than ${longestName} characters`
  if (/^[._-]/.test(name)) return 'it begins with a dot, an underscore or a hyphen'
  if (/[A-Z]/.test(name)) return 'npm wants lower case'
  if (!/^[a-z0-9._~-]+$/.test(name)) return 'npm takes letters, digits, hyphens, dots and underscores'
  if (name === 'node_modules' || name === 'favicon.ico') return 'npm keeps it for itself'
  if (isBuiltin(name)) return 'a module of Node is called so'
  if (name === 'svc') return 'a project cannot depend on a package of its own name'
  return null
}

function problemOfFile(part: string): string | null {
  if (reservedOnWindows.test(part)) return 'Windows keeps it for a device'
  if (forbiddenOnWindows.test(part)) return 'Windows cannot have such a file'
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

/** The nearest name that is valid, or null. */
function slug(text: string): string | null {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[._-]+|[._-]+$/g, '')
    .slice(0, longestName)
  return problemOfName(name) === null && problemOfFile(name) === null ? name : null
}
