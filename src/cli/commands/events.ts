/** `svc sandbox events`. */
import { endpointCommand, projectFilter } from '#cli/endpoint/endpoint-command.ts'
import { endpointOptions, flagValues } from '#cli/endpoint/flags.ts'
import { type CommandContext, noteFollowing } from '#cli/run/command.ts'
import { untilCtrlC } from '#cli/run/errors.ts'
import { cutText, formatValue, timeText } from '#text/text.ts'

const filters = endpointOptions('events.stream').query

export const events = endpointCommand('events.stream', {
  name: 'events',
  details: 'Prints one line for each event, until Ctrl-C.',
  examples: ['sandbox events --since-seq 0', "sandbox events --type 'beacon.*' -o jsonl"],
  async run(context, { options }) {
    const query = { ...(await projectFilter(context)), ...flagValues(filters, options) }
    return untilCtrlC(print(context, query))
  },
})

async function print({ client, system, out, signal }: CommandContext, query: Record<string, unknown>): Promise<number> {
  const onOpen = () => noteFollowing({ system, out }, 'events')
  for await (const event of client().events.stream({ query }, { signal, onOpen })) {
    const { at_ms, type, slot_id, client_id } = event
    out.item(event, (style) =>
      [
        style.dim(timeText(at_ms, style, true)),
        type.padEnd(18),
        formatValue(slot_id),
        cutText(formatValue(client_id), style.columns === undefined ? Number.POSITIVE_INFINITY : style.columns - 48),
      ].join('  '),
    )
  }
  out.note('The sandbox ended the stream.')
  return 0
}
