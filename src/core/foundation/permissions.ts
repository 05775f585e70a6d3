/**
 * Who may read what has keys in it: only its owner. Elsewhere modes say so; Windows has none, and a file there may be read by
 * whom its folder allows. The profile of a user, with LOCALAPPDATA in it, is for that user alone. Anywhere else, as on
 * another drive, every user of the computer reads, unless a file or folder has permissions of its own.
 */
import { homedir } from 'node:os'
import { win32 } from 'node:path'
import { readOutput } from './programs.ts'

/** The modes of a file in the state directory, which may contain keys: only its owner can read it. */
export const ownerOnly = { file: 0o600, folder: 0o700 } as const

/** Beside the owner, as in a profile: the system, and administrators, who can take any file. */
const others = ['S-1-5-18', 'S-1-5-32-544']
/** The owner of the file, where `whoami` does not show the user. */
const ownerRights = 'S-1-3-4'

/**
 * Lets only its owner read a file, or a folder with what is created in it, that was created with a mode of `ownerOnly`. Does
 * nothing where modes do it, and in the user's profile. A disk without permissions keeps none.
 */
export function restrictToOwner(
  path: string,
  kind: 'file' | 'folder',
  { platform, home }: { platform: string; home: string } = { platform: process.platform, home: homedir() },
): void {
  if (platform !== 'win32' || isInside(home, path)) return
  const [user = ownerRights] = /S-1-[\d-]+/.exec(readOutput(['whoami', '/user', '/fo', 'csv', '/nh'])) ?? []
  const rights = kind === 'folder' ? '(OI)(CI)F' : 'F'
  readOutput([
    'icacls',
    path,
    '/inheritance:r',
    '/grant:r',
    ...[user, ...others].map((sid) => `*${sid}:${rights}`),
    '/q',
  ])
}

function isInside(folder: string, path: string): boolean {
  const way = win32.relative(folder, path)
  return folder !== '' && way !== '' && way !== '..' && !way.startsWith('..\\') && !win32.isAbsolute(way)
}
