import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { alignTable } from '../../cli/output/text.ts'
import type { Noun } from '../../cli/run/command.ts'
import type { Provenance } from '../../contract/provenance.ts'
import { check } from './check.ts'

const provenances = ['documented', 'observed', 'assumed'] as const satisfies Provenance[]

/** An endpoint of the listing, which the contract types as JSON. */
interface ListedEndpoint {
  id: string
  method: string
  path: string
  stability: string
  fields: { provenance: Provenance }[]
}

export const contract: Noun = {
  summary: 'Show what is documented, observed and assumed, and check a service against it',
  commands: [
    endpointCommand('contract.show', {
      details: 'As text it counts fields by provenance; as JSON it lists every field with its decision id.',
      examples: ['contract show', 'contract show -o json'],
      text: ({ endpoints }, _, style) =>
        alignTable(
          ['endpoint', 'method', 'path', 'stability', ...provenances],
          (endpoints as unknown as ListedEndpoint[]).map((endpoint) => [
            endpoint.id,
            endpoint.method,
            endpoint.path,
            endpoint.stability,
            ...provenances.map(
              (provenance) => endpoint.fields.filter((field) => field.provenance === provenance).length,
            ),
          ]),
          style,
        ),
    }),
    endpointCommand('contract.openapi', {
      details: 'Always JSON.',
      examples: ['contract openapi', 'contract openapi -o json'],
      text: (document) => [JSON.stringify(document, null, 2)],
    }),
    check,
  ],
  flagCommands: { '--check': 'check' },
}
