/** `/keys/key_...`: one key of a project, which is all that the sandbox knows of it. */
import { useCallback, useEffect, useState } from 'react'
import { Link } from 'wouter'
import type { KeyItem } from '../../../../src/contract/control/keys.ts'
import { call } from '../../data/api.ts'
import type { Loaded } from '../../data/resource.ts'
import { problemOf } from '../../data/resource.ts'
import { Chip } from '../../parts/Chip.tsx'
import { Outcome, useAction } from '../../parts/Confirm.tsx'
import { Id } from '../../parts/Id.tsx'
import { Json } from '../../parts/Json.tsx'
import { KeyValues, Page, Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/States.tsx'
import { Time } from '../../parts/Time.tsx'
import { RevokeKey } from './KeyCard.tsx'

export function KeyPage({ id }: { id: string }) {
  const [state, setState] = useState<Loaded<KeyItem | null>>(loading)
  const reload = useCallback(() => {
    findKey(id).then(
      (data) => setState({ status: 'ready', data, problem: null }),
      (error: unknown) => setState({ status: 'failed', data: null, problem: problemOf(error) }),
    )
  }, [id])
  useEffect(reload, [reload])
  const action = useAction(reload)
  return (
    <Page title={id} copies="key_id" lead="A key of a project: the sandbox stores its hash, so its text is not here">
      <Shown resource={{ state, reload }}>
        {(key) =>
          key === null ? (
            <Empty icon="key" title="There is no such key">
              It may belong to another sandbox, or to the state before a reset.
            </Empty>
          ) : (
            <div className="columns even">
              <Panel title="Key" actions={<RevokeKey item={key} action={action} />}>
                <Outcome action={action} />
                <KeyValues
                  pairs={[
                    ['State', <State key="state" isRevoked={key.revoked_at_ms !== null} />],
                    ['Class', key.class === 'secret' ? 'secret, for servers' : 'publishable, for pages'],
                    ['Mode', key.mode],
                    ['Project', <Id key="project" kind="project" id={key.client_id} />],
                    ['Created', <Time key="created" at_ms={key.created_at_ms} show="date" />],
                    ['Revoked', key.revoked_at_ms && <Time key="revoked" at_ms={key.revoked_at_ms} show="date" />],
                  ]}
                />
                <p>
                  <Link className="link" href={`/controls?part=keys&project=${encodeURIComponent(key.client_id)}`}>
                    Every key of this project
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

const loading = { status: 'loading', data: null, problem: null } as const

function State({ isRevoked }: { isRevoked: boolean }) {
  return <Chip tone={isRevoked ? 'bad' : 'good'}>{isRevoked ? 'revoked' : 'valid'}</Chip>
}

/** Reads the keys of one project after the other. Resolves to null when none has it. */
async function findKey(key_id: string): Promise<KeyItem | null> {
  const { items: projects } = await call('projects.list', { query: { limit: 1_000 } })
  for (const { client_id } of projects) {
    const { items } = await call('keys.list', { params: { client_id }, query: { limit: 1_000 } })
    const key = items.find((item) => item.key_id === key_id)
    if (key !== undefined) return key
  }
  return null
}
