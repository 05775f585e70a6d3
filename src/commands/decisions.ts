/** `svc decisions`. */
import { Option } from 'commander'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { lastPlacement, savePlacement } from '#cli/endpoint/last-placement.ts'
import { placementSummary } from '#cli/output/placement-summary.ts'
import type { Command, CommandContext, Noun } from '#cli/run/command.ts'
import { limits } from '#contract/limits.ts'

const poll = endpointCommand('decisions.get', {
  details:
    'Without slot_id: your last placement, else the newest of the project. With --wait it returns once the slot is decided.',
  examples: ['decisions get', 'decisions get --wait -o json'],
  defaultParam: (context) => lastPlacement(context, 'slot_id'),
  after: (context, decision) => savePlacement(context, decision, null),
  text: placementSummary,
})

const get: Command = {
  ...poll,
  options: [...(poll.options ?? []), new Option('--wait', 'poll until it is decided')],
  async run(context, input) {
    if (input.options.wait !== true) return poll.run(context, input)
    const slot_id = input.args[0] ?? (await lastPlacement(context, 'slot_id'))
    await untilDecided(context, slot_id)
    return poll.run(context, { ...input, args: [slot_id] })
  },
}

export const decisions: Noun = {
  summary: 'Poll slots for their decision',
  commands: [get],
}

/** Resolves when the slot is no longer pending. Each poll waits as long as the service allows. */
async function untilDecided({ client, out, signal }: CommandContext, slot_id: string): Promise<void> {
  const request = { params: { slot_id }, query: { wait_ms: limits.wait_ms.max } }
  const polling = async () => {
    while ((await client({}).decisions.get(request, { signal })).status === 'pending') signal.throwIfAborted()
  }
  await out.progress(`${slot_id} is pending: waiting for its decision`, polling())
}
