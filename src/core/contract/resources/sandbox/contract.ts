/** The contract as a response of the sandbox that serves it. */
import { z } from 'zod'
import { declareEndpoints, reading } from '../../endpoint.ts'
import { assumed, assumedObject } from '../../objects.ts'

export const control = declareEndpoints({
  'contract.show': {
    ...reading,
    path: '/_sandbox/contract',
    summary: 'Show what is documented, observed and assumed',
    is_constant: true,
    description: 'Every field, value and rule of the contract with its provenance and decision id.',
    response: assumedObject('A93', () => ({
      endpoints: z.array(z.json()).describe('Endpoints with their fields.'),
      reason_codes: assumed(z.array(z.json()), 'A12', 'Causes of failure.'),
      no_fill_reasons: assumed(z.array(z.json()), 'A31', 'No-fill reasons.'),
    })),
  },
  'contract.openapi': {
    ...reading,
    path: '/_sandbox/openapi.json',
    summary: 'Get the OpenAPI 3.1 document',
    is_constant: true,
    description: 'v1 and the control plane, with x-provenance on every field.',
    response: z.record(z.string(), z.json()),
  },
})
