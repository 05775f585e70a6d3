/** Tokens of the control plane (A97). */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import { startName } from '#runtime/access.ts'
import type { Operation } from '../context.ts'

export const listTokens: Operation<Contract['tokens.list']> = async ({ access }) => ({ items: await access.list() })

export const createToken: Operation<Contract['tokens.create']> = async ({ access }, _context, { body }) => {
  const created = await access.create(body.name, body.role ?? 'read')
  if (created !== null) return { ...created.row, token: created.text }
  const isOwn = body.name === startName
  throw new ApiError('token_exists', {
    message: isOwn
      ? `The name ${startName} belongs to the token of svc start.`
      : `There is a token named ${body.name}, or there was one.`,
  })
}

export const revokeToken: Operation<Contract['tokens.revoke']> = async ({ access }, _context, { params }) => {
  const row = await access.revoke(params.name)
  if (row !== null) return row
  throw new ApiError('not_found', {
    message: `There is no token named ${params.name}.`,
    hint: 'List them: svc team tokens list.',
  })
}
