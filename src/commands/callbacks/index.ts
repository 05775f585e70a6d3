import { Argument } from 'commander'
import { callEndpoint, describeRecord, endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { paintStatus, paintWord } from '../../cli/output/table.ts'
import type { Noun } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { permittedSecretKey } from '../../cli/settings/key-destination.ts'
import { ServiceError } from '../../client/errors.ts'
import type { CallbackItem } from '../../contract/control/callbacks.ts'
import { listen } from './listen.ts'

export const callbacks: Noun = {
  summary: 'Receive callbacks, list them with their status, send them again',
  commands: [
    listen,
    endpointCommand('callbacks.list', {
      empty: 'There is no callback yet. Create one: svc jobs create --callback-url URL',
      examples: ['callbacks list', 'callbacks list --status failed -o json'],
      columns: [
        { name: 'slot', field: 'slot_id', kind: 'id' },
        { name: 'status', paint: paintWord },
        { name: 'attempts', rank: 3 },
        { name: 'http', field: 'http_status', rank: 2, paint: paintStatus },
        { name: 'url', least: 16 },
        { name: 'problem', least: 12 },
      ],
    }),
    endpointCommand('callbacks.resend', {
      details:
        'Without slot_id: the newest callback. After a restart of the sandbox it is signed with the secret key in use, which must be the one that created the job: --secret-key KEY names another. Exit code 5 when it is not delivered.',
      arguments: [new Argument('[slot_id]', 'Slot of the callback: svc callbacks list.')],
      options: [],
      examples: ['callbacks resend', 'callbacks resend -o json'],
      async run(session, { args }) {
        const item = await resend(session, args[0] ?? (await newest(session)))
        session.out.data(item, (style) => describeRecord(item, style))
        return item.status === 'delivered' ? 0 : 5
      },
    }),
  ],
}

async function newest(session: Session): Promise<string> {
  const { items } = (await callEndpoint(session, 'callbacks.list', { query: { limit: 1 } })).data
  if (items[0] !== undefined) return items[0].slot_id
  const hint = 'Create a job that has some: svc jobs create --callback-url http://localhost:4020'
  throw new CliError('usage', 'callback_missing', 'There is no callback to send again.', hint)
}

/** Resends with the key that the sandbox has, or else with the key in use. */
async function resend(session: Session, slot_id: string): Promise<CallbackItem> {
  const call = async (body: object) =>
    (await callEndpoint(session, 'callbacks.resend', { params: { slot_id }, body })).data
  try {
    return await call({})
  } catch (error) {
    const isLost = error instanceof ServiceError && error.reason_code === 'callback_key_lost'
    const secret_key = isLost ? permittedSecretKey(session.settings) : null
    if (secret_key === null) throw error
    return call({ secret_key })
  }
}
