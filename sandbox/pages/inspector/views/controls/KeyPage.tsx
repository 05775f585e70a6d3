import { Link } from 'wouter'
import type { KeyItem } from '#contract/resources/keys.ts'
import { call } from '../../data/api.ts'
import { useLoaded } from '../../data/resource.ts'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { Json } from '../../parts/Json.tsx'
import { Page } from '../../parts/Page.tsx'
import { KeyValues, Panel } from '../../parts/Panel.tsx'
import { Empty, elsewhere, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { Time } from '../../parts/values/Time.tsx'
import { RevokeKey } from './KeyCard.tsx'

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
  const { items: projects } = await call('projects.list', { query: { limit: 1000 } })
  for (const { client_id } of projects) {
    const { items } = await call('keys.list', { params: { client_id }, query: { limit: 1000 } })
    const key = items.find((item) => item.key_id === key_id)
    if (key !== undefined) return key
  }
  return null
}
