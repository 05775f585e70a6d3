/**
 * Failures that the operating system reports, in words: a full disk, a missing permission, too many open files. Every
 * message about one takes its reason and its fix from here. None of them is a bug of this program.
 */
import { findEntry } from './table-entry.ts'

/** An error with a code of the system, as Node throws it. */
export interface SystemError extends Error {
  readonly code: string
  /** The refused call: `open`, or `spawn git` with the name of a program. */
  readonly syscall?: string
  readonly path?: string
  /** Of a connection. */
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
}

/** Codes of the system. Those of Node's own errors begin with ERR_. */
const systemCode = /^(?!ERR_)(E[A-Z0-9_]+|WSA[A-Z0-9_]+|UNKNOWN)$/

/** Returns the error of the system that something thrown is or was caused by; null when there is none. */
export function systemErrorBehind(thrown: unknown): SystemError | null {
  if (!(thrown instanceof Error)) return null
  if (isSystemError(thrown)) return thrown
  for (const each of [thrown.cause, ...listInnerErrors(thrown)]) {
    const found = systemErrorBehind(each)
    if (found !== null) return found
  }
  return null
}

function isSystemError(thrown: Error & { errno?: unknown; syscall?: unknown }): thrown is SystemError {
  const { errno, syscall } = thrown
  const code = readErrorCode(thrown)
  if (code === undefined || !systemCode.test(code)) return false
  return typeof errno === 'number' || typeof syscall === 'string' || Object.hasOwn(reasons, code)
}

/** Returns the errors that an error stands for: a connection to a host with several addresses fails once per address. */
export function listInnerErrors(error: Error): unknown[] {
  return 'errors' in error && Array.isArray(error.errors) ? error.errors : []
}

/** The reasons, to follow `cannot be written:`. */
const reasons: Readonly<Record<string, string>> = {
  E2BIG: 'its arguments and environment are too long',
  EACCES: 'permission denied',
  EADDRINUSE: 'another program listens there',
  EADDRNOTAVAIL: 'this computer does not have the address',
  EAGAIN: 'the system has no resources left for it',
  EAI_AGAIN: 'the name service does not respond',
  EBADF: 'it is not open',
  EBUSY: 'another program is using it',
  ECONNABORTED: 'the connection was closed',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was closed',
  EDQUOT: 'your disk quota is used up',
  EEXIST: 'it exists already',
  EFBIG: 'the file is too large',
  EHOSTUNREACH: 'no network leads there',
  EINVAL: 'the system does not support this there',
  EIO: 'the disk reports an error',
  EISDIR: 'it is a folder',
  ELOOP: 'its symbolic links lead in a circle',
  EMFILE: 'this process has too many files and connections open',
  ENAMETOOLONG: 'its name is too long',
  ENETUNREACH: 'no network leads there',
  ENFILE: 'this computer has too many files open',
  ENODEV: 'its device does not exist',
  ENOENT: 'no such file',
  ENOMEM: 'there is not enough memory',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'part of its path is not a folder',
  ENOTEMPTY: 'the folder is not empty',
  ENOTFOUND: 'no such host',
  ENXIO: 'its device does not exist',
  EPERM: 'the system does not permit it',
  EPIPE: 'nothing reads it any more',
  EROFS: 'the file system is read-only',
  ESTALE: 'its network drive has lost it',
  ETIMEDOUT: 'there was no response in time',
  ETXTBSY: 'it is a program that is running',
  EXDEV: 'it is on another disk',
}

/** Returns the reason of a failure in words, without a full stop. A code without words is named. */
export function systemReason(error: unknown): string {
  const code = String(readErrorCode(error))
  const known = findEntry(reasons, code)
  if (known !== undefined) return known
  const message = readMessage(error)
  // Node writes `EXDEV: cross-device link not permitted, rename 'a' -> 'b'`.
  const words = message.startsWith(`${code}: `) ? message.slice(code.length + 2).split(',', 1)[0] : undefined
  return words === undefined ? `the system reports ${code}` : `${words} (${code})`
}

const freeSpace = 'Free some space there, or choose another place. Then try again.'
const checkPermissions = 'Check the permissions of the file and of its folders, or choose another place.'
const raiseLimit = 'Close some programs, or raise the limit: ulimit -n 4096. Then try again.'
const checkDisk = 'Check the disk and its connection, or choose a file on another one.'
const checkPath = 'Check the path.'
const checkNetwork = 'Check the address, and whether its service is running.'

const hints: Readonly<Record<string, string>> = {
  ...{ EACCES: checkPermissions, EPERM: checkPermissions, EROFS: 'Choose a place that can be written.' },
  ...{ ENOSPC: freeSpace, EDQUOT: freeSpace, EFBIG: freeSpace },
  ...{ EMFILE: raiseLimit, ENFILE: raiseLimit, EAGAIN: 'Close some programs, then try again.' },
  ...{ ENOMEM: 'Close some programs, then try again.', EIO: checkDisk, ESTALE: checkDisk, ENXIO: checkDisk },
  ...{ EBUSY: 'Close the program that uses it, then try again.', ENODEV: checkDisk },
  ...{ ENOENT: checkPath, ENOTDIR: checkPath, EISDIR: checkPath, ELOOP: checkPath, ENAMETOOLONG: checkPath },
  ...{ ECONNREFUSED: checkNetwork, ECONNRESET: checkNetwork, ETIMEDOUT: checkNetwork, EHOSTUNREACH: checkNetwork },
  ...{ ENETUNREACH: checkNetwork, ENOTFOUND: checkNetwork, EAI_AGAIN: checkNetwork, ECONNABORTED: checkNetwork },
  EADDRINUSE: 'Choose another port, or stop the program that has it.',
}

/** Returns what to do about a failure of the system. */
export function systemHint(code: string): string {
  return findEntry(hints, code) ?? 'The cause is on this computer. Remove it, or choose another place, then try again.'
}

/** Returns the code of an error of the system or of Node, such as ENOENT; undefined when it has none. */
export function readErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Returns the message of an error; anything else that was thrown, as text. */
export function readMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
