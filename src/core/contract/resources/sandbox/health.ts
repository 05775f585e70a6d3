/** The probes of balancers and orchestrators. */
import { declareEndpoints, reading } from '../../endpoint.ts'
import { Done } from '../../fields.ts'

export const control = declareEndpoints({
  'health.live': {
    ...reading,
    path: '/_sandbox/livez',
    summary: 'Check that the process responds',
    is_constant: true,
    description: 'Responds as soon as the socket is open. Probes need no admin token.',
    response: Done,
  },
  'health.ready': {
    ...reading,
    path: '/_sandbox/readyz',
    summary: 'Check that the sandbox is ready',
    description:
      'Ready only after migrations and seed; the socket opens no earlier. Not ready, with a 503, while it stops and while it has lost a shared store. Probes need no admin token.',
    response: Done,
    errors: ['draining'],
  },
})
