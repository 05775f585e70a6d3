/** The grants of pages that steer the sandbox from their console (A114). */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import type { ConsoleGrant } from '#contract/resources/sandbox/console.ts'
import type { Operation } from '../context.ts'

export const listGrants: Operation<Contract['console.list']> = async ({ consoleGrants }) => ({
  items: consoleGrants.list(),
})

export const confirmGrant: Operation<Contract['console.confirm']> = async ({ consoleGrants }, _context, { params }) =>
  known(consoleGrants.confirm(params.grant_id))

export const revokeGrant: Operation<Contract['console.revoke']> = async ({ consoleGrants }, _context, { params }) =>
  known(consoleGrants.revoke(params.grant_id))

function known(grant: ConsoleGrant | null): ConsoleGrant {
  if (grant !== null) return grant
  throw new ApiError('not_found', {
    message: 'There is no such grant: it has expired, or was refused.',
    hint: 'Ask again from the console on the page. List the open ones: svc sandbox console list.',
  })
}
