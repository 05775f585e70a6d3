import { Option } from 'commander'
import { endpointCommand } from '../cli/endpoint/endpoint-command.ts'
import { placementSummary } from '../cli/output/placement-summary.ts'
import type { Command, CommandInput, Noun } from '../cli/run/command.ts'
import type { Session } from '../cli/run/session.ts'
import { limits } from '../contract/limits.ts'
import { recallPlacement, rememberPlacement } from './placements/last-placement.ts'

const get = endpointCommand('decisions.get', {
  details: 'Without slot_id, the last placement that this command line got. With --wait it answers once it is decided.',
  examples: ['decisions get', 'decisions get --wait -o json'],
  defaultParam: (session) => recallPlacement(session, 'slot_id'),
  after: rememberPlacement,
  text: placementSummary,
})

const getOrWait: Command = {
  ...get,
  options: [...(get.options ?? []), new Option('--wait', 'poll until it is decided')],
  async run(session, given) {
    if (given.options.wait === true) await decided(session, given)
    return get.run(session, given)
  },
}

export const decisions: Noun = {
  summary: 'Poll slots for their decision',
  commands: [getOrWait],
}

/** Resolves when the slot is no longer pending: each poll waits as long as the service lets it. Ctrl-C ends it. */
async function decided(session: Session, { args }: CommandInput): Promise<void> {
  const slot_id = args[0] ?? (await recallPlacement(session, 'slot_id'))
  const { client, out, signal } = session
  const request = { params: { slot_id }, query: { wait_ms: limits.wait_ms.max } }
  const poll = async () => {
    while ((await client({}).decisions.get(request, { signal })).status === 'pending') signal.throwIfAborted()
  }
  await out.progress(`${slot_id} is pending: waiting for its decision`, poll())
}
