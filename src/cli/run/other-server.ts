/** Errors of commands where another program listens than a sandbox: they name it. */
import { ContractError, ServiceError, UnreachableError } from '#client/errors.ts'
import { CliError } from '#text/cli-error.ts'
import { describeFailure } from '#text/failure.ts'
import { NoSandboxError, noOwnSandbox } from './errors.ts'
import type { System } from './system.ts'

/**
 * Resolves to the error of a command, with the program that listens at its base URL if that is on this computer and no sandbox;
 * to the error as it is otherwise.
 */
export async function nameOtherServer(error: unknown, system: System, base_url: string): Promise<unknown> {
  if (error instanceof NoSandboxError) {
    if (await system.respondsAt(base_url)) return noOwnSandbox(base_url)
    const server = await system.describeServer(base_url)
    if (server === null) return error
    const message = `${error.message} Port ${new URL(base_url).port} is taken by ${server}.`
    return new CliError(error.category, error.code, message, error.hint)
  }
  if (!isOfOtherServer(error)) return error
  const server = await system.describeServer(base_url)
  if (server === null) return error
  const { category, code, message, hint } = describeFailure(error)
  const what = `No sandbox is at ${base_url}: the port is taken by ${server}.`
  return new CliError(category, code, message, [what, hint ?? findOwn].join(' '))
}

const findOwn = 'Running sandboxes: svc sandbox ps. Where the base URL is from: svc config list'

/** Whether an error is about a response that no sandbox sends, or that did not come. */
function isOfOtherServer(error: unknown): boolean {
  if (error instanceof ServiceError) return error.body === null
  // A hint is there where the cause is known: http for https, a certificate.
  if (error instanceof UnreachableError) return error.hint === null
  return error instanceof ContractError
}
