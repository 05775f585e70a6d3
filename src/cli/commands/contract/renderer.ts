/** `svc contract compare --renderer`: the render.js and the frames of a recording beside those of the sandbox. */

import type { CommandContext } from '#cli/run/command.ts'
import { commandClient } from '#cli/run/command-client.ts'
import { keyOfStarted } from '#client/permitted-key.ts'
import { pageOrigin } from '#contract/origins.ts'
import { contractCheckClient } from '#contract/own-requests.ts'
import type { Recording } from '#contract/recordings/recording.ts'
import type { RendererComparison } from '#qa/contract-compare/renderer.ts'
import { CliError } from '#text/cli-error.ts'
import { browserProgram, startBrowser } from '../qa/targets.ts'
import { startOnFreePort } from '../sandbox/emulator.ts'

/** Resolves to the formats that were compared, in a sandbox and a browser started for them. Throws CliError. */
export async function runRecordedRenderer(
  context: CommandContext,
  { service, recording }: { service: string; recording: Recording | null },
  browser_path: string | undefined,
): Promise<RendererComparison[]> {
  const { compareRenderers, readRenderer } = await import('#qa/contract-compare/renderer.ts')
  const recorded = recording === null ? null : readRenderer(recording.exchanges)
  if (recorded === null) {
    const hint = 'Record a page that shows an ad: its render.js, and the frame.'
    throw new CliError('usage', 'renderer_missing', `${service} has no recorded render.js and no frame.`, hint)
  }
  const program = { engine: 'chromium', path: browser_path } as const
  const path = await browserProgram(context, program, 'Without --renderer only the responses are compared.')
  const { sandbox } = await startOnFreePort(context, { port: 0, ephemeral: true, seed: 1, rate_limit: 'off' })
  const host = await startBrowser(context, path, { reachable: [new URL(sandbox.url).hostname] })
  try {
    const running = compareRenderers(recorded, {
      browser: await host.get(),
      client: commandClient(context.system, {
        base_url: sandbox.url,
        credential: keyOfStarted(sandbox),
        validate: false,
      }),
      base_url: sandbox.url,
      client_id: sandbox.keys.client_id,
      origin: pageOrigin(sandbox.projects[0]?.allowed_origins ?? []) ?? 'http://localhost:3000',
      prefix: contractCheckClient.session_prefix,
      signal: context.signal,
    })
    return await context.out.progress(`showing the ads of the recording in ${host.name}`, running)
  } finally {
    await host.close()
    await sandbox.close()
  }
}
