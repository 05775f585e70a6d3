/** Decisions pushed over WebSocket: a ticket, and the socket that it opens. */
import { z } from 'zod'
import { declareEndpoints } from '../endpoint.ts'
import { slotIdParam } from '../fields.ts'
import { looseObject, strictObject } from '../objects.ts'
import { observed } from '../provenance.ts'
import { onBrowser, onWrapper } from './surface.ts'

const params = strictObject(() => ({ slot_id: slotIdParam }))

export const DecisionTicket = strictObject(() => ({
  ticket: observed(
    z.string(),
    'C04',
    'Opens one socket for the decision of this slot, within 60 seconds, on this surface and from this origin.',
  ),
}))
export type DecisionTicket = z.infer<typeof DecisionTicket>

const ticket = {
  method: 'POST',
  description:
    'A handshake cannot carry an Authorization header in a browser: a ticket takes its place. The request has no body. A slot that is unknown or of another project gets a 404. Use GET /v1/decisions/{slot_id} with wait_ms.',
  params,
  response: DecisionTicket,
  errors: ['not_found'],
} as const

const socket = {
  method: 'GET',
  description:
    'The handshake of a WebSocket, version 13 (RFC 6455), without a subprotocol. Exactly one text frame follows, when the slot is decided, at once when it is already: the decision as GET .../decision returns it, never pending. The client closes the socket. The ticket is the only credential: a bad, missing, used or foreign one gets a 401, a request that is no handshake a 426.',
  credentials: [],
  rate: null,
  status: 101,
  params,
  query: looseObject(() => ({
    ticket: observed(z.string().optional(), 'C04', 'The ticket of this slot. Other parameters are ignored.'),
  })),
  response: { media_type: 'websocket' },
  errors: ['ticket_invalid', 'upgrade_required', 'too_many_sockets'],
} as const

const successor = '/v1/decisions/{slot_id}'

export const endpoints = declareEndpoints({
  'wrapper.ticket': {
    ...onWrapper(successor),
    ...ticket,
    path: '/public/wrapper/v1/slots/{slot_id}/decision-ticket',
    summary: 'Get a ticket for the decision socket of a slot, as an old client of a server',
  },
  'browser.ticket': {
    ...onBrowser(successor),
    ...ticket,
    path: '/public/browser/v1/slots/{slot_id}/decision-ticket',
    summary: 'Get a ticket for the decision socket of a slot, as an old client of a browser',
  },
  'wrapper.socket': {
    ...onWrapper(successor),
    ...socket,
    path: '/public/wrapper/v1/slots/{slot_id}/decision/ws',
    summary: 'Have the decision of a slot pushed, as an old client of a server',
  },
  'browser.socket': {
    ...onBrowser(successor),
    ...socket,
    path: '/public/browser/v1/slots/{slot_id}/decision/ws',
    summary: 'Have the decision of a slot pushed, as an old client of a browser',
  },
})
