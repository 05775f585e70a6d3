/** `/projects`: every project; `/projects/proj_...`: its settings, its keys, and links to its data. */

import { type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import { Link } from 'wouter'
import type { KeyClass, KeyCreated, KeyItem } from '#contract/resources/keys.ts'
import type { ProjectItem } from '#contract/resources/projects.ts'
import { call, useSession } from '../../data/api.ts'
import { isReplaced } from '../../data/live.ts'
import { useLoaded, useResource } from '../../data/resource.ts'
import { Json } from '../../parts/Code.tsx'
import { type Column, idColumn, LiveTable, type Table } from '../../parts/DataTable.tsx'
import { type Action, ConfirmButton, Outcome, useAction } from '../../parts/Dialog.tsx'
import { Segments } from '../../parts/Fields.tsx'
import { Empty, elsewhere, KeyValues, Page, Panel, Shown } from '../../parts/Page.tsx'
import { Chip, CopyButton, Id, routeTo, Time } from '../../parts/Values.tsx'

const columns: readonly Column<ProjectItem>[] = [
  idColumn('client_id', 'Project', 'project', 'minmax(120px, 1fr)', true),
  {
    id: 'state',
    header: 'State',
    width: '84px',
    isNarrow: true,
    cell: ({ enabled }) => <Chip tone={enabled ? 'good' : 'warn'}>{enabled ? 'fills' : 'no fills'}</Chip>,
  },
  { id: 'billing_model', header: 'Billing model', width: '120px' },
  {
    id: 'consent',
    header: 'Consent',
    width: '96px',
    cell: ({ consent_required }) => (consent_required ? 'required' : 'optional'),
  },
  {
    id: 'origins',
    header: 'Allowed origins',
    width: 'minmax(140px, 2fr)',
    cell: ({ allowed_origins }) => <code className="faint small-code">{allowed_origins.join(', ')}</code>,
  },
  { id: 'config_revision', header: 'Revision', width: '72px', isNarrow: true, isNumber: true },
]

const table: Table<ProjectItem> = {
  id: 'projects.list',
  label: 'Projects',
  columns,
  getKey: ({ client_id }) => client_id,
  getRoute: ({ client_id }) => routeTo('project', client_id),
  isAffected: isReplaced,
}

export function ProjectsPage() {
  return (
    <Page title="Projects" lead="Seeded projects and your own: svc projects create" isFull>
      <LiveTable table={table} query={{}} empty={<Empty title="No projects" />} />
    </Page>
  )
}

export function ProjectPage({ id }: { id: string }) {
  const project = useResource('projects.show', { params: { client_id: id } })
  const keys = useResource('keys.list', { params: { client_id: id } })
  const name = encodeURIComponent(id)
  return (
    <Page
      title={id}
      copies="client_id"
      lead="What the project may show, its limits and its billing"
      actions={
        <Link className="small primary" href={`/controls?part=settings&project=${name}`}>
          Change settings
        </Link>
      }
    >
      <Shown resource={project} missing={<Empty title="No such project">svc projects list</Empty>}>
        {({ wrapper_tenant_id, config_revision, settings }) => (
          <div className="columns even">
            <div className="column">
              <Panel title="Project">
                <KeyValues
                  pairs={[
                    ['Tenant', <code key="tenant">{wrapper_tenant_id}</code>],
                    ['Settings revision', config_revision],
                    ['Placements', settings.enabled ? 'may fill' : 'never fill: policy_block'],
                    ['Consent', settings.consent.required ? 'required' : 'optional'],
                    ['Billing model', settings.billing_model],
                    ['Allowed origins', settings.allowed_origins.join(', ') || 'none'],
                  ]}
                />
                <ul className="bar wrapping reasons-line">
                  {destinations.map(([label, path]) => (
                    <li key={label}>
                      <Link className="link" href={`${path}?client_id=${name}`}>
                        {label}
                      </Link>
                    </li>
                  ))}
                </ul>
              </Panel>
              <Panel
                title="Keys"
                actions={
                  <Link className="link" href={`/controls?part=keys&project=${name}`}>
                    Create or revoke
                  </Link>
                }
              >
                <Shown resource={keys}>
                  {({ items }) => (
                    <ul className="cards">
                      {items.map((item) => (
                        <KeyCard key={item.key_id} item={item} />
                      ))}
                    </ul>
                  )}
                </Shown>
              </Panel>
            </div>
            <Panel title="All settings">
              <Json value={settings} endpoint="projects.show" prefix="settings" label="the settings" />
            </Panel>
          </div>
        )}
      </Shown>
    </Page>
  )
}

const destinations = [
  ['Placements', '/placements'],
  ['Beacons', '/beacons'],
  ['Requests', '/requests'],
  ['Consent', '/consent'],
  ['Evidence', '/evidence'],
  ['Billing', '/billing'],
  ['Callbacks', '/callbacks'],
] as const

/** The keys of a project. A new key is shown once: the sandbox stores only its hash. */
export function KeyControls({ client_id }: { client_id: string }) {
  const resource = useResource('keys.list', { params: { client_id } })
  const action = useAction(resource.reload)
  const [created, setCreated] = useState<KeyCreated | null>(null)
  return (
    <div className="columns">
      <Panel title="Keys">
        <Outcome action={action} />
        <Shown resource={resource}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty icon="key" title="This project has no keys" />
            ) : (
              <ul className="cards">
                {items.map((item) => (
                  <KeyCard key={item.key_id} item={item} actions={<RevokeKey item={item} action={action} />} />
                ))}
              </ul>
            )
          }
        </Shown>
      </Panel>
      <div className="column">
        <CreateKey
          client_id={client_id}
          onCreated={(key) => {
            setCreated(key)
            resource.reload()
          }}
        />
        {created !== null && <NewKey created={created} />}
        <SeededKeys client_id={client_id} />
      </div>
    </div>
  )
}

function CreateKey({ client_id, onCreated }: { client_id: string; onCreated: (key: KeyCreated) => void }) {
  const [keyClass, setClass] = useState<KeyClass>('secret')
  const [mode, setMode] = useState<'test' | 'live'>('test')
  const action = useAction()
  return (
    <Panel title="Create a key">
      <div className="form">
        <Segments
          label="Class"
          value={keyClass}
          onChange={setClass}
          values={[
            ['secret', 'Secret, for servers'],
            ['publishable', 'Publishable, for pages'],
          ]}
        />
        <Segments
          label="Mode"
          value={mode}
          onChange={setMode}
          values={[
            ['test', 'Test'],
            ['live', 'Live'],
          ]}
        />
        <Button
          className="small primary"
          isDisabled={action.isRunning}
          onPress={() =>
            action.run(async () => {
              const key = await call('keys.create', { params: { client_id }, body: { class: keyClass, mode } })
              onCreated(key)
              return `${key.key_id} is created.`
            })
          }
        >
          Create
        </Button>
        <Outcome action={action} />
      </div>
    </Panel>
  )
}

function NewKey({ created: { key, key_id } }: { created: KeyCreated }) {
  return (
    <Panel title="The new key" lead="Shown only here: copy it now.">
      <div className="bar box">
        <code className="grow wrap">{key}</code>
        <CopyButton text={key} label={`Copy the key ${key_id}`} />
      </div>
    </Panel>
  )
}

/** The keys of the seed are well known, so they can be shown. */
function SeededKeys({ client_id }: { client_id: string }) {
  const { projects } = useSession()
  const seeded = projects.find((project) => project.client_id === client_id)
  if (seeded === undefined) return null
  const { secret_key, live_secret_key, publishable_key } = seeded
  return (
    <Panel title="Seeded keys" lead="The same in every sandbox: they protect nothing.">
      <ul className="cards">
        {[secret_key, publishable_key, live_secret_key].map((key) => (
          <li key={key} className="bar box">
            <code className="grow wrap">{key}</code>
            <CopyButton text={key} label={`Copy ${key}`} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

interface KeyCardProps {
  item: KeyItem
  /** Next to it, at its end. */
  actions?: ReactNode
}

/** A key among others: its identifier, its purpose, and its actions. */
function KeyCard({ item, actions }: KeyCardProps) {
  const { key_id, mode, created_at_ms, revoked_at_ms } = item
  return (
    <li className="box card">
      <div className="grow">
        <div className="bar wrap-line">
          <Id kind="key" id={key_id} isCopied />
          <Chip tone={item.class === 'secret' ? 'warn' : 'plain'}>{item.class}</Chip>
          <Chip tone={mode === 'live' ? 'bad' : 'plain'}>{mode}</Chip>
          {revoked_at_ms !== null && <Chip tone="bad">revoked</Chip>}
        </div>
        <p className="faint tiny">
          created <Time at_ms={created_at_ms} show="date" />
          {revoked_at_ms !== null && (
            <>
              , revoked <Time at_ms={revoked_at_ms} show="date" />
            </>
          )}
        </p>
      </div>
      {actions}
    </li>
  )
}

/** Nothing for a key that is revoked. */
function RevokeKey({ item: { key_id, revoked_at_ms }, action }: { item: KeyItem; action: Action }) {
  if (revoked_at_ms !== null) return null
  return (
    <ConfirmButton
      title={`Revoke ${key_id}?`}
      text="From the next request on, the key and the tokens issued for it get a 401 key_revoked. A reset restores the keys of the seed."
      confirm="Revoke"
      onConfirm={() => action.run(() => call('keys.revoke', { params: { key_id }, body: {} }), `${key_id} is revoked.`)}
    />
  )
}

/** `/keys/key_...`: one key of a project, with everything that the sandbox knows about it. */
export function KeyPage({ id }: { id: string }) {
  const resource = useLoaded(id, () => findKey(id))
  const action = useAction(resource.reload)
  return (
    <Page title={id} copies="key_id" lead="The sandbox stores only a hash of the key, so its text is not shown">
      <Shown resource={resource}>
        {(key) =>
          key === null ? (
            <Empty icon="key" title="No such key">
              {elsewhere}
            </Empty>
          ) : (
            <div className="columns even">
              <Panel title="Key" actions={<RevokeKey item={key} action={action} />}>
                <Outcome action={action} />
                <KeyValues
                  pairs={[
                    [
                      'State',
                      <Chip key="state" tone={key.revoked_at_ms === null ? 'good' : 'bad'}>
                        {key.revoked_at_ms === null ? 'valid' : 'revoked'}
                      </Chip>,
                    ],
                    ['Class', key.class === 'secret' ? 'secret, for servers' : 'publishable, for pages'],
                    ['Mode', key.mode],
                    ['Project', <Id key="project" kind="project" id={key.client_id} />],
                    ['Created', <Time key="created" at_ms={key.created_at_ms} show="date" />],
                    ['Revoked', key.revoked_at_ms && <Time key="revoked" at_ms={key.revoked_at_ms} show="date" />],
                  ]}
                />
                <p>
                  <Link className="link" href={`/controls?part=keys&project=${encodeURIComponent(key.client_id)}`}>
                    All keys of this project
                  </Link>
                  {' · '}
                  <Link className="link" href={`/requests?key=${id}`}>
                    Requests with this key
                  </Link>
                </p>
              </Panel>
              <Panel title="As the API returns it">
                <Json value={key} endpoint="keys.list" prefix="items" label="the key" />
              </Panel>
            </div>
          )
        }
      </Shown>
    </Page>
  )
}

/** Reads the keys project by project. Resolves to null when none has it. */
async function findKey(key_id: string): Promise<KeyItem | null> {
  const { items: projects } = await call('projects.list', { query: { limit: 1_000 } })
  for (const { client_id } of projects) {
    const { items } = await call('keys.list', { params: { client_id }, query: { limit: 1_000 } })
    const key = items.find((item) => item.key_id === key_id)
    if (key !== undefined) return key
  }
  return null
}
