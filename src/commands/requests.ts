import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'
import { recallPlacement } from '../cli/last-placement.ts'
import { describeValue } from '../cli/text.ts'

export const requests: CommandGroup = {
  name: 'requests',
  summary: 'Read the request journal of the sandbox',
  commands: [
    endpointCommand('requests.list', {
      examples: ['requests list', 'requests list --status 400 --since 10m -o jsonl'],
      columns: ['at_ms', 'method', 'path', 'status', 'reason_code', 'duration_ms', 'request_id'],
    }),
    endpointCommand('requests.show', {
      details: 'Without request_id, the request of the last placement that this command line got.',
      examples: ['requests show', 'requests show -o json'],
      defaultParam: (session) => recallPlacement(session, 'request_id'),
      text: ({ request_body, response_body, ...detail }, _, style) =>
        describeValue(
          { ...detail, request_body: readable(request_body), response_body: readable(response_body) },
          style,
        ),
    }),
  ],
}

/** A body as a value, where it is JSON. */
function readable(body: string | null): unknown {
  try {
    return JSON.parse(body ?? 'null')
  } catch {
    return body
  }
}
