/** `/id/ANYTHING` searches for an identifier without its own form. */
import { useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { call } from '../data/api.ts'
import { useLoaded } from '../data/resource.ts'
import { Page } from '../parts/Page.tsx'
import { Empty, elsewhere, Shown } from '../parts/Shown.tsx'
import { detectKind, routeTo } from '../parts/values/identifiers.ts'

/** The page of an identifier, the kind of a token without a page, or null. */
type Found = { route: string } | { token: keyof typeof tokenNames } | null

export function FindPage({ id }: { id: string }) {
  const [, navigate] = useLocation()
  const search = useLoaded(id, () => find(id))
  const found = search.state.data
  useEffect(() => {
    if (found !== null && 'route' in found) navigate(found.route, { replace: true })
  }, [found, navigate])
  return (
    <Page title={id}>
      <Shown resource={search}>
        {(found) =>
          found === null ? (
            <Empty title="Nothing found for this identifier">{elsewhere}</Empty>
          ) : 'token' in found ? (
            <Empty icon="key" title={`This is ${tokenNames[found.token]}`}>
              The sandbox stores only its hash.{' '}
              <Link className="link" href={`/requests?key=${found.token}`}>
                Requests with such a token
              </Link>
            </Empty>
          ) : null
        }
      </Shown>
    </Page>
  )
}

/** Resolves to the page of an identifier, or the kind of token that it is; null when nothing has this name. */
async function find(id: string): Promise<Found> {
  const token = /^(ast|at|bt)_([0-9a-z]{11})/.exec(id)
  if (token !== null) {
    const [, kind = '', number = ''] = token
    // An asset token carries the id of its slot.
    return kind === 'ast' ? { route: routeTo('placement', `slot_${number}`) } : { token: kind === 'at' ? 'at' : 'bt' }
  }
  if (id.startsWith('ten_')) {
    const client_id = await projectOfTenant(id)
    return client_id === null ? null : { route: routeTo('project', client_id) }
  }
  if (/^flt_\d+$/.test(id)) return { route: '/controls?part=faults' }
  const kind = detectKind(id)
  if (kind !== null) return { route: routeTo(kind, id) }
  const [info, sessions, consents, beacons, scenarios, snapshots] = await Promise.all([
    call('sandbox.info'),
    call('placements.list', { query: { session_id: id, limit: 1 } }),
    call('consent.list', { query: { session_id: id, limit: 1 } }),
    call('beacons.list', { query: { beacon_id: id, limit: 1 } }),
    call('scenario.list'),
    call('snapshots.list'),
  ])
  if (info.projects.some(({ client_id }) => client_id === id)) return { route: routeTo('project', id) }
  if (sessions.items.length + consents.items.length > 0) return { route: routeTo('session', id) }
  if (beacons.items.length > 0) return { route: routeTo('beacon', id) }
  if (scenarios.items.some(({ name }) => name === id)) return { route: '/controls?part=scenarios' }
  return snapshots.items.some(({ name }) => name === id) ? { route: '/controls?part=data' } : null
}

const tokenNames = { at: 'an activation token', bt: 'a beacon token' } as const

async function projectOfTenant(tenant_id: string): Promise<string | null> {
  const { items } = await call('projects.list', { query: { limit: 1000 } })
  for (const { client_id } of items) {
    const project = await call('projects.show', { params: { client_id } })
    if (project.wrapper_tenant_id === tenant_id) return client_id
  }
  return null
}
