import { useState } from 'react'
import { Button } from 'react-aria-components'
import type { KeyClass, KeyCreated } from '#contract/resources/keys.ts'
import { call } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { useSession } from '../../data/session.ts'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { Segments } from '../../parts/Fields.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { CopyButton } from '../../parts/values/CopyButton.tsx'
import { KeyCard, RevokeKey } from './KeyCard.tsx'

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
