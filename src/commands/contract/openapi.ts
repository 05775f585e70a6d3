/** `svc openapi`. */
import { Option } from 'commander'
import type { Command } from '#cli/run/command.ts'
import { openapiDocument } from '#contract/openapi/document.ts'

export const openapi: Command = {
  name: 'openapi',
  summary: 'Print the OpenAPI 3.1 document of the contract',
  details:
    'Covers v1 and the control plane, with x-provenance on every field; --v1 or --control selects one of them. Needs no sandbox. Always JSON.',
  options: [
    new Option('--v1', 'only the public API').conflicts('control'),
    new Option('--control', 'only the control plane of the sandbox'),
  ],
  examples: ['openapi --v1', 'openapi -o json'],
  acceptsInvalidSettings: true,
  async run({ out, settings }, { options }) {
    const only = options.v1 === true ? 'v1' : options.control === true ? 'sandbox' : undefined
    const document = openapiDocument({ server_url: settings.base_url, only })
    out.data(document, () => JSON.stringify(document, null, 2).split('\n'))
    return 0
  },
}
