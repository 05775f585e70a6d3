/** `svc contract openapi`. */
import { resolve } from 'node:path'
import { Option } from 'commander'
import { type Command, type CommandContext, type CommandInput, textOption } from '#cli/run/command.ts'
import { collectionTools } from '#collections/tools.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import { isListed } from '#foundation/table-entry.ts'
import { forceOption, oneText, writeAtomically } from '../files.ts'

export const openapi: Command = {
  name: 'openapi',
  summary: 'Print the OpenAPI 3.1 document of the contract, or a collection made of it',
  details: [
    'Covers v1 and the control plane, with x-provenance on every field; --v1 or --control selects one of them. Needs no sandbox. Always JSON.',
    'With --for, a collection of requests for Postman, which Bruno imports too, or as an .http file for JetBrains IDEs and httpYac. It has one turn in order, from consent to beacons, with the URL and the test keys of the running sandbox, or of proj_demo, and runs as it is. Keys of another service are not written.',
  ].join('\n\n'),
  options: [
    new Option('--v1', 'only the public API').conflicts('control'),
    new Option('--control', 'only the control plane of the sandbox').conflicts('for'),
    new Option('--for <tool>', 'a collection for this tool').choices(collectionTools),
    new Option('--out <path>', 'file to write; default: stdout'),
    forceOption(),
  ],
  examples: [
    'contract openapi --v1',
    'contract openapi --for postman',
    'contract openapi --for http --out svc.http --force',
  ],
  acceptsInvalidSettings: true,
  async run(context, input) {
    const tool = input.options.for
    if (!isListed(collectionTools, tool)) return writeDocument(context, input)
    const { writeCollection } = await import('./collections.ts')
    return writeCollection(context, tool, input)
  },
}

async function writeDocument(context: CommandContext, { options }: CommandInput): Promise<number> {
  const { out, settings, system } = context
  const only = options.v1 === true ? 'v1' : options.control === true ? 'sandbox' : undefined
  const document = openapiDocument({ server_url: settings.base_url, only })
  const text = JSON.stringify(document, null, 2)
  const named = textOption(options, 'out')
  if (named === undefined) {
    out.data(document, () => text.split('\n'))
    return 0
  }
  const path = resolve(system.cwd, named)
  await writeAtomically(context, path, oneText(`${text}\n`), { overwrite: options.overwrite === true })
  out.data({ path }, () => [`Wrote ${path}.`])
  return 0
}
