import { type SystemError, systemErrorBehind, systemHint, systemReason } from '#foundation/system-error.ts'

/** The cause, for programs. */
export type SandboxFailure =
  | 'port_in_use'
  | 'database_in_use'
  | 'database_newer'
  | 'database_corrupt'
  | 'database_unwritable'
  | 'database_unreachable'
  | 'option_invalid'
  | 'demand_invalid'
  | 'recording_invalid'
  | 'recording_old'

/**
 * A sandbox could not start, or could not close its database cleanly. `message` says why, and `hint` says what to do.
 */
export class SandboxError extends Error {
  readonly code: SandboxFailure
  readonly hint: string
  constructor(code: SandboxFailure, message: string, hint: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SandboxError'
    this.code = code
    this.hint = hint
  }
}

/** Returns the error for a directory or file that cannot be written. */
export function unwritable(path: string, error: unknown): SandboxError {
  const system = systemErrorBehind(error)
  if (system !== null) return refusedFile(path, 'written', system)
  return new SandboxError(
    'database_unwritable',
    `${path} cannot be written: ${(error as Error).message}.`,
    'Check the directory and its permissions, or start with --ephemeral.',
    { cause: error },
  )
}

/** Returns the error for a file that the system refuses to open, read or write. */
export function refusedFile(
  path: string,
  done: 'opened' | 'read' | 'written',
  system: Pick<SystemError, 'code' | 'message'>,
): SandboxError {
  const message = `${path} cannot be ${done}: ${systemReason(system)}.`
  const hint = `${systemHint(system.code)} Without a file: svc start --ephemeral`
  return new SandboxError('database_unwritable', message, hint, { cause: system })
}

/** Returns an error of `listen` as a SandboxError where the caller can fix it, else unchanged. */
export function listenError(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') {
    return new SandboxError(
      'port_in_use',
      `Port ${port} is taken.`,
      `Try: svc start --port ${port + 1}, or --port 0 for any that is free`,
      {
        cause: error,
      },
    )
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'ERR_SOCKET_BAD_PORT') {
    const reason = systemErrorBehind(error) === null ? (error as Error).message : systemReason(error)
    return new SandboxError(
      'option_invalid',
      `Cannot listen on ${host}:${port}: ${reason}.`,
      'Choose another --host or --port.',
      { cause: error },
    )
  }
  return error
}
