/** `svc bundle create` writes a turn as one signed file, and `svc bundle import` brings such a file back to the inspector. */
import { resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { callEndpoint, projectFilter } from '#cli/endpoint/endpoint-command.ts'
import { lastPlacement } from '#cli/endpoint/last-placement.ts'
import { type Command, type CommandContext, type CommandInput, textOption } from '#cli/run/command.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import { readUserText } from '#cli/run/user-file.ts'
import type { Bundle } from '#contract/bundles/bundle.ts'
import { findNameProblem, readBundle } from '#contract/bundles/text.ts'
import { withoutUndefined } from '#foundation/json.ts'
import { bundleFileName, requireBundle } from '#text/bundle-page.ts'
import { CliError, exitCodes } from '#text/cli-error.ts'
import { plural, sizeText } from '#text/text.ts'
import { forceOption, oneText, writeAtomically } from '../files.ts'

export const create: Command = {
  name: 'create',
  summary: 'Write a turn as one signed file that opens anywhere',
  details:
    'The file is a page without a script: requests, decision with its trace, creative, beacons with their measurements and verdicts, consent, billing verdict, settings that differ from the defaults, and the evidence with its proof. It opens offline, prints, and holds its data: svc evidence verify FILE says whether something was changed, svc bundle import FILE shows it in an inspector. Keys, tokens and prompt texts are in no byte of it. Without SLOT: your last placement, else the newest of the project.',
  arguments: [new Argument('[slot]', 'the placement; default: the last one')],
  options: [
    new Option('--session-id <id>', 'the newest turns of this session, at most 20'),
    new Option('--out <file>', 'file to write; default: SLOT.svc.html here'),
    new Option('--with-media', 'with the clip, not only its still'),
    forceOption(),
  ],
  examples: [
    'bundle create --force',
    'bundle create --out turn.html --force',
    'bundle create --with-media --out turn.html --force -o json',
  ],
  run: writeBundle,
}

async function writeBundle(context: CommandContext, { args, options }: CommandInput): Promise<number> {
  const { system, out } = context
  const session_id = textOption(options, 'sessionId')
  if (session_id !== undefined && args[0] !== undefined) {
    throw new CliError('usage', 'argument_invalid', 'SLOT and --session-id are both given.', 'Give one of them.')
  }
  const project = await projectFilter(context)
  const isNamed = session_id !== undefined || project.client_id !== undefined
  const slot_id = args[0] ?? (isNamed ? undefined : await lastPlacement(context, 'slot_id'))
  const query = withoutUndefined({
    ...project,
    slot_id,
    session_id,
    media: options.withMedia === true ? 'true' : undefined,
  })
  const { data: page } = await callEndpoint(context, 'bundles.page', { query })
  const bundled = requireBundle(page)
  const file = resolve(system.cwd, textOption(options, 'out') ?? bundleFileName(bundled))
  await writeAtomically(context, file, oneText(page), { overwrite: options.overwrite === true })
  const slot_ids = bundled.turns.map(({ placement }) => placement.slot_id)
  const size_bytes = Buffer.byteLength(page)
  const { left_out } = bundled
  out.data({ file, size_bytes, slot_ids, left_out }, () => [
    `Wrote ${file}, ${sizeText(size_bytes)}: ${describeTurns(bundled)}.`,
    ...(left_out === 0 ? [] : [`Left out: ${plural(left_out, 'older turn')} of the session.`]),
  ])
  return exitCodes.ok.exit_code
}

function describeTurns({ turns, session_id }: Bundle): string {
  const [first] = turns
  if (turns.length !== 1 || first === undefined)
    return `${plural(turns.length, 'turn')} of ${session_id ?? 'a session'}`
  const { slot_id, fill, no_fill_reason, billing } = first.placement
  if (fill === null) return `${slot_id}, pending`
  if (!fill) return `${slot_id}, no fill: ${no_fill_reason ?? ''}`
  return `${slot_id}, ${billing?.would_bill === true ? 'would bill' : 'would not bill'}`
}

export const importBundle: Command = {
  name: 'import',
  summary: 'Look at a bundle beside the present state',
  details:
    'Checks a file of svc bundle create and keeps it in the running sandbox until that stops: the inspector shows it beside what the sandbox knows of the same slot today. Nothing else in the sandbox changes. One that was altered is imported too, and said to be: exit code 5.',
  arguments: [new Argument('<file>', 'file written by svc bundle create')],
  examples: ['bundle import turn.html', 'bundle import turn.html -o json'],
  async run(context, { args }) {
    const { out, settings, system } = context
    const file = resolve(system.cwd, args[0]!)
    const text = await readUserText(system, args[0]!)
    const misnamed = findNameProblem(file, text)
    const read = misnamed === null ? readBundle(text) : { problem: misnamed }
    if ('problem' in read) {
      const hint =
        'Name a file that svc bundle create wrote. The state of a sandbox is imported by: svc sandbox import FILE'
      throw new CliError('usage', 'file_invalid', `${file} is not a bundle: ${read.problem}.`, hint)
    }
    if (settings.sandbox === null && settings.source.base_url === 'default') throw noSandboxFor(settings)
    const { data } = await callEndpoint(context, 'bundles.import', { body: { text } })
    const url = `${settings.sandbox?.public_url ?? settings.base_url}/_sandbox/bundles/${data.bundle_id}`
    out.data({ ...data, url }, (style) => [
      `Imported ${plural(data.slot_ids.length, 'turn')}: ${style.cyan(url)}`,
      data.problem === null
        ? `Nothing was changed since ${data.is_own ? 'this' : 'another'} sandbox signed it.`
        : style.red(`Changed since it was signed: ${data.problem}.`),
      ...(data.not_compared === null ? [] : [`Not compared: ${data.not_compared}.`]),
    ])
    return (data.problem === null ? exitCodes.ok : exitCodes.expectation).exit_code
  },
}
