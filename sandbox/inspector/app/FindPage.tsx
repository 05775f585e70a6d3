/** `/id/ANYTHING`: leads to the page of what has this identifier. Those without a form of their own are looked for. */
import { useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { ApiProblem } from '../data/api.ts'
import { call } from '../data/api.ts'
import { problemOf } from '../data/resource.ts'
import { kindOf, routeTo } from '../parts/Id.tsx'
import { Page } from '../parts/Panel.tsx'
import { Empty, Loading, Problem } from '../parts/States.tsx'

type Search =
  | { status: 'searching' }
  | { status: 'token'; kind: keyof typeof tokenNames }
  | { status: 'none' }
  | { status: 'failed'; problem: ApiProblem }

export function FindPage({ id }: { id: string }) {
  const [, navigate] = useLocation()
  const [search, setSearch] = useState<Search>({ status: 'searching' })
  useEffect(() => {
    let isShown = true
    setSearch({ status: 'searching' })
    findRoute(id).then(
      (route) => {
        if (!isShown) return
        if (typeof route === 'object') setSearch(route)
        else navigate(route, { replace: true })
      },
      (error: unknown) => isShown && setSearch({ status: 'failed', problem: problemOf(error) }),
    )
    return () => {
      isShown = false
    }
  }, [id, navigate])
  return (
    <Page title={id}>
      {search.status === 'searching' && <Loading label="Looking for it" />}
      {search.status === 'failed' && <Problem problem={search.problem} />}
      {search.status === 'token' && (
        <Empty icon="key" title={`This is ${tokenNames[search.kind]}`}>
          The sandbox stores its hash alone.{' '}
          <Link className="link" href={`/requests?key=${search.kind}`}>
            Requests that carried such a token
          </Link>
        </Empty>
      )}
      {search.status === 'none' && (
        <Empty title="Nothing here has this identifier">
          It may belong to another sandbox, or to the state before a reset.
        </Empty>
      )}
    </Page>
  )
}

/** Resolves to the page of an identifier, or to what is said in its place. */
async function findRoute(id: string): Promise<string | Search> {
  const token = /^(ast|at|bt)_([0-9a-z]{11})/.exec(id)
  if (token !== null) {
    const [, kind = '', number = ''] = token
    // An asset token carries the id of its slot.
    return kind === 'ast' ? routeTo('placement', `slot_${number}`) : { status: 'token', kind: kind as 'at' | 'bt' }
  }
  if (id.startsWith('ten_')) {
    const client_id = await projectOfTenant(id)
    return client_id === null ? none : routeTo('project', client_id)
  }
  if (/^flt_\d+$/.test(id)) return '/controls?part=faults'
  const kind = kindOf(id)
  if (kind !== null) return routeTo(kind, id)
  const [info, sessions, consents, beacons, scenarios, snapshots] = await Promise.all([
    call('sandbox.info'),
    call('placements.list', { query: { session_id: id, limit: 1 } }),
    call('consent.list', { query: { session_id: id, limit: 1 } }),
    call('beacons.list', { query: { beacon_id: id, limit: 1 } }),
    call('scenario.list'),
    call('snapshots.list'),
  ])
  if (info.projects.some(({ client_id }) => client_id === id)) return routeTo('project', id)
  if (sessions.items.length + consents.items.length > 0) return routeTo('session', id)
  if (beacons.items.length > 0) return routeTo('beacon', id)
  if (scenarios.items.some(({ name }) => name === id)) return '/controls?part=scenarios'
  return snapshots.items.some(({ name }) => name === id) ? '/controls?part=data' : none
}

const none = { status: 'none' } as const
const tokenNames = { at: 'an activation token', bt: 'a beacon token' } as const

async function projectOfTenant(tenant_id: string): Promise<string | null> {
  const { items } = await call('projects.list', { query: { limit: 1_000 } })
  for (const { client_id } of items) {
    const project = await call('projects.show', { params: { client_id } })
    if (project.wrapper_tenant_id === tenant_id) return client_id
  }
  return null
}
