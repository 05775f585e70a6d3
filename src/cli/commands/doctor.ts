import { diagnose, type Gathered, reportLines, summarize } from '#cli/doctor/doctor.ts'
import { findService, gatherMachine, gatherSandbox, settingsOrProblem } from '#cli/doctor/machine.ts'
import type { Command, CommandContext } from '#cli/run/command.ts'
import { serviceClient } from '#cli/run/command-client.ts'
import { exitCodes } from '#text/cli-error.ts'

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check this computer and its sandbox',
  details:
    'Check Node, directories, configuration file, keys, proxies, browser and port; then the database, the evidence, the clock and the certificate of the sandbox that runs. Nothing is changed. Exits with 5 when there is a problem. What your app sends and shows is judged by svc observe; with --since 10m, what the journal has already.',
  hasRows: true,
  examples: ['doctor', 'doctor -o json'],
  acceptsInvalidSettings: true,
  async run(context) {
    const { out, command_name } = context
    const findings = diagnose(await out.progress('checking', gather(context)))
    const summary = summarize(findings)
    const ok = summary.problem === 0
    out.list({ ok, summary, findings }, findings, (style) => reportLines(findings, style))
    if (ok) out.note(`The requests of your app: ${command_name} observe --since 10m`)
    return ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
  },
}

/** Gathers what the checks look at. */
async function gather(context: CommandContext): Promise<Gathered> {
  const { system, command_name } = context
  const { settings, problem } = await settingsOrProblem(context)
  const client = serviceClient(system, settings)
  const { service, info } = await findService(client, settings.base_url)
  return {
    machine: await gatherMachine(context, settings, problem, service),
    sandbox: info === null ? null : await gatherSandbox(client, info, { now_ms: system.now(), command_name }),
  }
}
