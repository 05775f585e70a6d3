/** The cause, for programs. */
export type SandboxFailure =
  | 'port_in_use'
  | 'database_in_use'
  | 'database_newer'
  | 'database_corrupt'
  | 'database_unwritable'
  | 'database_unreachable'
  | 'option_invalid'

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
  return new SandboxError(
    'database_unwritable',
    `${path} cannot be written: ${(error as Error).message}.`,
    'Check the directory and its permissions, or start with --ephemeral.',
    { cause: error },
  )
}

/** Returns an error of `listen` as a SandboxError where the caller can fix it, else unchanged. */
export function listenError(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') {
    return new SandboxError('port_in_use', `Port ${port} is taken.`, `Try: svc start --port ${port + 1}`, {
      cause: error,
    })
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'ERR_SOCKET_BAD_PORT') {
    const reason = (error as Error).message
    return new SandboxError(
      'option_invalid',
      `Cannot listen on ${host}:${port}: ${reason}.`,
      'Choose another --host or --port.',
      { cause: error },
    )
  }
  return error
}
