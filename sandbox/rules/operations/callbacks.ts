/** Callbacks: accepted with a job, listed, and sent again. */

import { ApiError } from '#contract/errors.ts'
import { decodeId, encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import type { CallbackItem } from '#contract/resources/callbacks.ts'
import type { CallbackRow, PageQuery } from '#store/store.ts'
import {
  type Context,
  defined,
  listItems,
  type Operation,
  projectFilter,
  requireCaller,
  type Services,
  slotFilter,
} from './context.ts'

/**
 * Checks the callback URL of a job that is about to be created, and keeps the text of its key for signing. @throws
 * ApiError 400 for a URL that callbacks may not go to, and for a credential that cannot sign
 */
export async function acceptCallback(services: Services, context: Context, url: string, path: string): Promise<void> {
  const { credential, key_id } = requireCaller(context)
  if (credential !== 'secret_key') throw new ApiError('callback_key_missing')
  const problem = await services.callbacks.findProblem(url)
  if (problem !== null) {
    const expected = 'an https URL of a public host, or an http URL on loopback'
    throw new ApiError('callback_url_refused', {
      message: `The callback URL ${problem}.`,
      fields: [{ path, message: problem, expected }],
    })
  }
  // A replayed request has no credential: its key may still be in memory from the first time.
  const text = /^Bearer +(\S+) *$/i.exec(context.authorization ?? '')?.[1]
  if (text !== undefined) services.callbacks.keepKey(key_id, text)
}

export const listCallbacks: Operation<Contract['callbacks.list']> = async (services, context, { query }) => {
  const filter = defined({
    project_id: await projectFilter(services, query.client_id),
    slot_id: slotFilter(query.slot_id),
    status: query.status,
  })
  const read = (part: PageQuery) => services.store.listCallbacks({ ...part, ...filter })
  return listItems(context, query, read, (row) => callbackItem(services, row))
}

export const resendCallback: Operation<Contract['callbacks.resend']> = async (services, _context, { params, body }) => {
  const id = decodeId('slot', params.slot_id)
  const row = id === null ? null : await services.store.findCallback(id)
  if (row === null) {
    throw new ApiError('not_found', {
      message: 'No callback exists for this slot.',
      hint: 'List them: svc sandbox callbacks list. A job has callbacks when it is created with a callback_url.',
    })
  }
  const sent = await services.drainLock.runOutside(() => services.callbacks.resend(row, body.secret_key))
  return callbackItem(services, sent)
}

export async function callbackItem(services: Services, row: CallbackRow): Promise<CallbackItem> {
  const { slot_id, url, status, attempts, http_status, problem, created_at_ms, attempted_at_ms } = row
  const { client_id } = await services.store.findProjectById(row.project_id)
  return {
    slot_id: encodeId('slot', slot_id),
    client_id,
    url,
    status,
    attempts,
    http_status,
    problem,
    created_at_ms,
    attempted_at_ms,
  }
}
