import { Option } from 'commander'
import { repeatable, sinceText } from '#cli/endpoint/option-values.ts'
import { plural } from '#cli/output/text.ts'
import { type Command, type CommandContext, listOption, textOption } from '#cli/run/command.ts'
import { serviceClient } from '#cli/run/command-client.ts'
import { exitCodes, nothingChecked } from '#cli/run/errors.ts'
import { diagnose, type LookedAt, lookedAt, reportLines, summarize } from '#diagnosis/doctor.ts'
import {
  findService,
  gatherMachine,
  gatherSandbox,
  type SandboxReport,
  settingsOrProblem,
} from '#diagnosis/facts/machine.ts'
import { gatherServed } from '#diagnosis/facts/served-files.ts'
import { type Journal, readJournal } from '#diagnosis/journal.ts'

/** How many of the newest requests are checked. */
const limit = 1_000

export const doctor: Command = {
  name: 'doctor',
  summary: 'Judge an integration by its requests so far, and check this computer',
  details:
    'Check this computer, the running sandbox, and in its journal (the newest 1 000 requests) the points that matter when you migrate: key type, allowed origins, project config, beacon field names, error envelopes. It also lists views that were accepted but do not count. Nothing is changed. svc observe judges by the same rules while the app runs, and its page. Exit code 5 when there is a problem, and when there was nothing of an integration to check.',
  options: [
    new Option('--since <span>', 'only requests since then: 10m, 2h, or epoch milliseconds').argParser(sinceText),
    repeatable('--serve-dir <dir-or-url>', 'look for secret keys in the files that browsers load'),
  ],
  hasRows: true,
  examples: ['doctor', 'doctor --since 10m', 'doctor --serve-dir dist -o json'],
  acceptsInvalidSettings: true,
  async run(context, { options }) {
    const places = listOption(options, 'serveDir')
    const facts = context.out.progress('checking', gather(context, textOption(options, 'since'), places))
    const findings = diagnose(await facts)
    const summary = summarize(findings)
    const looked_at = lookedAt(await facts)
    const isNothing =
      looked_at.requests === 0 && (places.length === 0 || (await facts).served.some(({ files }) => files === 0))
    const ok = summary.problem === 0 && !isNothing
    context.out.list({ ok, looked_at, summary, findings }, findings, (style) => reportLines(findings, style))
    if (isNothing && summary.problem === 0)
      throw nothingChecked(nothingSeen(looked_at), 'Use the integration once, then run this again.')
    return ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
  },
}

function nothingSeen({ requests, files }: LookedAt): string {
  return `Nothing of an integration was checked: ${plural(requests, 'request')}, ${plural(files, 'served file')}.`
}

/** Gathers what the checks look at. */
export async function gather(context: CommandContext, since: string | undefined, places: readonly string[]) {
  const { system, command_name } = context
  const { settings, problem } = await settingsOrProblem(context)
  const client = serviceClient(system, settings)
  const { service, info } = await findService(client, settings.base_url)
  const now_ms = system.now()
  const about = { client_id: settings.client_id, command_name }
  const sandbox = info === null ? null : await gatherSandbox(client, info, { now_ms, command_name })
  return {
    machine: await gatherMachine(context, settings, problem, service),
    sandbox,
    journal:
      sandbox === null
        ? null
        : await selectJournal(sandbox, readJournal(client, sandbox.info, { since, limit }, about)),
    served: await Promise.all(places.map((place) => gatherServed(place, system.cwd))),
  }
}

/** A sandbox of another version may not support the way its journal is read: that is a finding, not a failure. */
async function selectJournal({ info, version }: SandboxReport, reading: Promise<Journal>): Promise<Journal | null> {
  return reading.catch((error: unknown) => {
    if (info.version === version) throw error
    return null
  })
}
