/** `/callbacks`: the decisions that are posted to the callback URL of their job; `/callbacks/slot_...`: one, with its attempts. */
import { useState } from 'react'
import { Button } from 'react-aria-components'
import type { CallbackItem } from '#contract/resources/callbacks.ts'
import type { ListedRequest } from '#contract/resources/requests.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { call } from '../../data/api.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { TextInput } from '../../parts/Fields.tsx'
import { type Column, idColumn, timeWidth } from '../../parts/lists/columns.tsx'
import { LiveTable, type Table } from '../../parts/lists/DataTable.tsx'
import { createChoice, type ListFilter, projectFilter, slotFilter } from '../../parts/lists/filters.ts'
import { ListPage } from '../../parts/lists/ListPage.tsx'
import { Page } from '../../parts/Page.tsx'
import { KeyValues, Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip, StatusChip } from '../../parts/values/Chip.tsx'
import { CopyButton } from '../../parts/values/CopyButton.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { routeTo } from '../../parts/values/identifiers.ts'
import { Time } from '../../parts/values/Time.tsx'
import { duration } from '../../parts/values/times.ts'

const tones = { waiting: 'plain', retrying: 'warn', delivered: 'good', failed: 'bad', key_lost: 'bad' } as const
const statuses = tableNames(tones)

const columns: readonly Column<CallbackItem>[] = [
  { ...idColumn('slot_id', 'Slot', 'callback', '140px'), isNarrow: true },
  {
    id: 'status',
    header: 'Status',
    width: '88px',
    isNarrow: true,
    cell: ({ status }) => <Chip tone={tones[status]}>{status}</Chip>,
  },
  { id: 'http_status', header: 'Response', width: '64px' },
  { id: 'attempts', header: 'Attempts', width: '60px', isNumber: true },
  { id: 'url', header: 'URL', width: 'minmax(120px, 1.4fr)', cell: ({ url }) => <code title={url}>{url}</code> },
  {
    id: 'problem',
    header: 'Problem',
    width: 'minmax(110px, 1fr)',
    cell: ({ problem }) => <span title={problem ?? undefined}>{problem}</span>,
  },
  {
    id: 'when',
    header: 'When',
    width: timeWidth,
    isNarrow: true,
    isNumber: true,
    cell: ({ attempted_at_ms, created_at_ms }) => <Time at_ms={attempted_at_ms ?? created_at_ms} />,
  },
]

const filters: readonly ListFilter[] = [slotFilter, createChoice('status', 'Status', statuses), projectFilter]

const isAffected = ({ type }: SandboxEvent) =>
  type === 'placement.decided' || type === 'job.created' || /^callback/.test(type)

const table: Table<CallbackItem> = {
  id: 'callbacks.list',
  label: 'Callbacks',
  columns,
  getKey: ({ slot_id }) => slot_id,
  getRoute: ({ slot_id }) => routeTo('callback', slot_id),
  isAffected,
}

export function CallbacksPage() {
  return (
    <ListPage
      title="Callbacks"
      lead="Decisions posted to each job's callback_url, newest first."
      filters={filters}
      noun="callback"
      empty={
        <Empty icon="requests" title="No callbacks yet">
          A job with a <code>callback_url</code> has one for each slot. To receive them:{' '}
          <code>svc sandbox callbacks listen</code>
        </Empty>
      }
    >
      {(query, listed) => <LiveTable table={table} query={query} {...listed} />}
    </ListPage>
  )
}

export function CallbackPage({ id }: { id: string }) {
  const resource = useResource('callbacks.list', { query: { slot_id: id, limit: 1 } }, isAffected)
  return (
    <Page
      title={`Callback for ${id}`}
      heading={
        <span className="bar">
          <span className="clipped">
            Callback of <code>{id}</code>
          </span>
          <CopyButton text={id} label="Copy the slot_id" />
        </span>
      }
      lead="The slot's decision, posted to the job's callback_url"
    >
      <Shown resource={resource}>
        {({ items: [callback] }) =>
          callback === undefined ? (
            <Empty icon="requests" title="This slot has no callback">
              Its job was created without a <code>callback_url</code>, or there is no such slot.
            </Empty>
          ) : (
            <>
              <Delivery callback={callback} reload={resource.reload} />
              <Attempts key={callback.attempts} callback={callback} />
            </>
          )
        }
      </Shown>
    </Page>
  )
}

function Delivery({ callback, reload }: { callback: CallbackItem; reload: () => void }) {
  const { slot_id, client_id, url, status, attempts, http_status, problem, created_at_ms, attempted_at_ms } = callback
  const action = useAction(reload)
  const [secret_key, setSecretKey] = useState('')
  const resend = () =>
    action.run(async () => {
      const body = secret_key === '' ? {} : { secret_key }
      const sent = await call('callbacks.resend', { params: { slot_id }, body })
      return sent.http_status === null
        ? `Sent: ${sent.problem ?? 'no response'}.`
        : `Sent: the endpoint responded ${sent.http_status}.`
    })
  return (
    <Panel title="Delivery" actions={<Chip tone={tones[status]}>{status}</Chip>}>
      <KeyValues
        pairs={[
          ['Slot', <Id key="slot" kind="placement" id={slot_id} />],
          ['Project', <Id key="project" kind="project" id={client_id} />],
          ['URL', <code key="url">{url}</code>],
          ['Attempts', String(attempts)],
          ['Last response', http_status === null ? (attempts === 0 ? null : 'none') : String(http_status)],
          ['Problem', problem],
          ['Job created', <Time key="created" at_ms={created_at_ms} show="date" />],
          ['Last attempt', attempted_at_ms && <Time key="attempted" at_ms={attempted_at_ms} show="date" />],
        ]}
      />
      <div className="form">
        {status === 'key_lost' && (
          <TextInput
            label="Secret key used to create the job"
            value={secret_key}
            onChange={setSecretKey}
            isCode
            hint="The sandbox has restarted since and has only its hash. Not stored."
          />
        )}
        <Button className="small primary" isDisabled={action.isRunning} onPress={resend}>
          Send again
        </Button>
        <Outcome action={action} />
      </div>
    </Panel>
  )
}

/** The attempts are in the journal, as requests to the callback URL. */
function Attempts({ callback: { url, slot_id, attempts } }: { callback: CallbackItem }) {
  const resource = useResource(
    'requests.list',
    attempts === 0 ? null : { query: { path: url.slice(0, 256), limit: 1_000 } },
  )
  const isOfSlot = (request: ListedRequest) => request.slot_id === slot_id
  return (
    <Panel title="Attempts" lead="From the journal, newest first.">
      {attempts === 0 ? (
        <p className="soft">None yet.</p>
      ) : (
        <Shown resource={resource}>
          {({ items }) => (
            <ul className="cards">
              {items.filter(isOfSlot).map(({ request_id, at_ms, status, duration_ms }) => (
                <li key={request_id} className="bar box wrap-line">
                  <StatusChip status={status} />
                  <Id kind="request" id={request_id} />
                  <Time at_ms={at_ms} />
                  <span className="faint tiny">{duration(duration_ms)}</span>
                </li>
              ))}
            </ul>
          )}
        </Shown>
      )}
    </Panel>
  )
}
