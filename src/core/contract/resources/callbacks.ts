/** Callbacks: the decisions that the sandbox posts to the callback URL of their job. */
import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../endpoint.ts'
import { callbackStatuses } from '../facts/stored-words.ts'
import { EpochMs, page, pageQuery, SlotFilter } from '../fields.ts'
import { assumedObject } from '../objects.ts'

export const CallbackStatus = z.enum(callbackStatuses)
export type CallbackStatus = z.infer<typeof CallbackStatus>

export const CallbackItem = assumedObject('C07', () => ({
  slot_id: z.string().describe('Slot whose decision is posted; identifies the callback.'),
  client_id: z.string().describe('Project.'),
  url: z.string().describe('callback_url of the job.'),
  status: CallbackStatus.describe(
    'waiting for the decision and the first attempt; retrying after a failed one; delivered (2xx); failed for good; key_lost: the sandbox was restarted before it was delivered.',
  ),
  attempts: z.int().min(0).describe('Requests so far, resends included.'),
  http_status: z.int().nullable().describe('HTTP status of the last attempt; null without a response.'),
  problem: z.string().nullable().describe('Why the last attempt failed, or why there was none.'),
  created_at_ms: EpochMs.describe('When the job was created.'),
  attempted_at_ms: EpochMs.nullable().describe('When the last attempt ended.'),
}))
export type CallbackItem = z.infer<typeof CallbackItem>

export const control = declareEndpoints({
  'callbacks.list': {
    ...reading,
    path: '/_sandbox/callbacks',
    summary: 'List the callbacks of jobs with their status',
    description:
      'One for each slot of a job with a callback URL, newest first. Attempts are in the request journal as POST requests to that URL.',
    query: assumedObject('C07', () => ({
      ...pageQuery(),
      client_id: z.string().optional().describe('Only this project.'),
      slot_id: SlotFilter.optional().describe('Only this slot.'),
      status: CallbackStatus.optional().describe('Only callbacks with this status.'),
    })),
    response: page(CallbackItem),
  },
  'callbacks.resend': {
    ...writing,
    path: '/_sandbox/callbacks/{slot_id}/resend',
    summary: 'Post the decision of a slot to its callback URL again',
    description:
      'Makes one attempt now, even after a successful delivery. The body is the decision as a poll would return it now, signed with the secret key that created the job. That key is only in memory: after a restart, send it.',
    params: assumedObject('C07', () => ({ slot_id: z.string().describe('Slot of the callback.') })),
    body: assumedObject('C07', () => ({
      secret_key: z
        .string()
        .max(256)
        .optional()
        .describe('The secret key that created the job, if the sandbox was restarted since. Not stored.'),
    })),
    response: CallbackItem,
    credential_fields: ['secret_key'],
    errors: ['not_found', 'callback_undecided', 'callback_key_lost'],
  },
})
