import { endpointOptions } from '../cli/endpoint/endpoint-command.ts'
import { flagValues } from '../cli/endpoint/flags.ts'
import { formatTime, formatValue } from '../cli/output/text.ts'
import type { Command, Noun } from '../cli/run/command.ts'
import { contract } from '../contract/index.ts'

const endpoint = contract['events.stream']
const { query } = endpointOptions(endpoint)

const stream: Command = {
  name: 'stream',
  summary: endpoint.summary,
  details: `${endpoint.description} One line an event, until Ctrl-C. (${endpoint.method} ${endpoint.path})`,
  options: [...query.values()],
  examples: ['events stream --since-seq 0', 'events stream --type beacon.* -o jsonl'],
  async run(session, given) {
    const events = session
      .client()
      .events.stream({ query: flagValues(query, given.options) }, { signal: session.signal })
    for await (const event of events) {
      session.out.item(event, (style) =>
        [
          style.dim(formatTime(event.at_ms)),
          event.type.padEnd(18),
          formatValue(event.slot_id),
          formatValue(event.client_id),
        ].join('  '),
      )
    }
    return 0
  },
}

export const events: Noun = {
  summary: 'Follow what happens in the sandbox',
  commands: [stream],
}
