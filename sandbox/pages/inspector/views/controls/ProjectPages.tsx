/** `/projects`: every project; `/projects/proj_...`: its settings, keys and links to its data. */
import { Link } from 'wouter'
import type { ProjectDetail, ProjectItem } from '#contract/resources/projects.ts'
import { isReplaced } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { Json } from '../../parts/Json.tsx'
import { type Column, idColumn } from '../../parts/lists/columns.tsx'
import { LiveTable, type Table } from '../../parts/lists/DataTable.tsx'
import { Page } from '../../parts/Page.tsx'
import { KeyValues, Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { routeTo } from '../../parts/values/identifiers.ts'
import { KeyCard } from './KeyCard.tsx'

const columns: readonly Column<ProjectItem>[] = [
  { ...idColumn('client_id', 'Project', 'project', 'minmax(120px, 1fr)'), isNarrow: true },
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
    <Page title="Projects" lead="Seeded projects and your own: svc sandbox projects create" isFull>
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
      <Shown resource={project} missing={<Empty title="No such project">svc sandbox projects list</Empty>}>
        {(project) => (
          <div className="columns even">
            <div className="column">
              <ProjectPanel project={project} />
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
              <Json value={project.settings} endpoint="projects.show" prefix="settings" label="the settings" />
            </Panel>
          </div>
        )}
      </Shown>
    </Page>
  )
}

function ProjectPanel({ project }: { project: ProjectDetail }) {
  const { client_id, wrapper_tenant_id, config_revision, settings } = project
  return (
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
            <Link className="link" href={`${path}?client_id=${encodeURIComponent(client_id)}`}>
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
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
