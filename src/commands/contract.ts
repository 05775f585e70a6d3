import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'

export const contractGroup: CommandGroup = {
  name: 'contract',
  summary: 'What of the API is documented, observed and assumed',
  commands: [
    endpointCommand('contract.show', { examples: ['contract show', 'contract show -o json'] }),
    endpointCommand('contract.openapi', {
      details: 'Always JSON.',
      examples: ['contract openapi', 'contract openapi --base-url http://127.0.0.1:4010'],
      text: (document) => [JSON.stringify(document, null, 2)],
    }),
  ],
}
