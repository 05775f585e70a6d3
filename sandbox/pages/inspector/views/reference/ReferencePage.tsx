/** The contract: every endpoint with its fields and where each comes from, every code, and the documentation. */
import { type ReactNode, useMemo } from 'react'
import { Link, useSearchParams } from 'wouter'
import { isObject, type Json } from '#foundation/json.ts'
import { request } from '../../data/api.ts'
import { type ListedEndpoint, listedEndpoints } from '../../data/provenance.ts'
import { useLoaded, useResource } from '../../data/resource.ts'
import { linkTo } from '../../data/session.ts'
import { FilterBar } from '../../parts/lists/FilterBar.tsx'
import { createChoice, hasWords, type ListFilter, useFilters } from '../../parts/lists/filters.ts'
import { Page } from '../../parts/Page.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip, StatusChip } from '../../parts/values/Chip.tsx'
import { EndpointDetail } from './EndpointDetail.tsx'

const filters: readonly ListFilter[] = [
  { name: 'q', label: 'Search', kind: 'text', placeholder: 'Endpoint, field, reason code, A31, page', isSearch: true },
  createChoice('provenance', 'Provenance', ['documented', 'observed', 'assumed']),
  createChoice('api', 'Part', [
    ['v1', 'the API'],
    ['sandbox', 'the control plane'],
    ['old', 'for old clients'],
  ]),
]

export function ReferencePage() {
  const contract = useResource('contract.show', {})
  const [values, change] = useFilters(filters)
  const [params] = useSearchParams()
  const id = params.get('endpoint')
  return (
    <Page
      title="Docs and contract"
      lead={
        <>
          What this sandbox implements. <b>Documented</b>: stated in the API document. <b>Observed</b>: seen in public
          clients. <b>Assumed</b>: chosen here, and may differ in production.
        </>
      }
    >
      <FilterBar filters={filters} values={values} onChange={change} />
      <Shown resource={contract}>
        {(listing) => {
          const endpoints = listedEndpoints(listing)
          const chosen = endpoints.find((endpoint) => endpoint.id === id)
          return (
            <div className="reference" data-chosen={chosen !== undefined || undefined}>
              <nav className="panel reference-list" aria-label="Endpoints">
                <EndpointList endpoints={endpoints} values={values} chosen={id} />
              </nav>
              {chosen === undefined ? (
                <div className="column">
                  {codeLists.map((list) => (
                    <Codes key={list.name} {...list} codes={listing[`${list.name}s`]} search={values.q ?? ''} />
                  ))}
                  <Pages search={values.q ?? ''} />
                </div>
              ) : (
                <EndpointDetail key={chosen.id} endpoint={chosen} provenance={values.provenance} />
              )}
            </div>
          )
        }}
      </Shown>
    </Page>
  )
}

interface EndpointListProps {
  endpoints: readonly ListedEndpoint[]
  values: Readonly<Record<string, string>>
  chosen: string | null
}

function EndpointList({ endpoints, values, chosen }: EndpointListProps) {
  const [params] = useSearchParams()
  const { q = '', provenance, api } = values
  const shown = useMemo(
    () =>
      endpoints.filter(
        (endpoint) =>
          (api === undefined || findGroup(endpoint) === api) &&
          (provenance === undefined || endpoint.fields.some((field) => field.provenance === provenance)) &&
          hasWords(
            [
              endpoint.id,
              endpoint.path,
              ...endpoint.fields.map(({ path, decision }) => `${path} ${decision ?? ''}`),
            ].join(' '),
            q,
          ),
      ),
    [endpoints, q, provenance, api],
  )
  if (shown.length === 0) return <p className="faint">No endpoint matches.</p>
  return (
    <ul>
      {shown.map(({ id, method, path }) => {
        const query = new URLSearchParams(params)
        query.set('endpoint', id)
        return (
          <li key={id}>
            <Link
              className="endpoint-link"
              href={`/reference?${query}`}
              aria-current={id === chosen ? 'page' : undefined}
            >
              <span className="bar spread">
                <b className="clipped">{id}</b>
                <Chip tone={method === 'GET' ? 'plain' : 'good'}>{method}</Chip>
              </span>
              <code className="faint clipped">{path}</code>
            </Link>
          </li>
        )
      })}
    </ul>
  )
}

function findGroup({ path, stability }: ListedEndpoint): 'v1' | 'sandbox' | 'old' {
  if (path.startsWith('/_sandbox/')) return 'sandbox'
  return stability === 'deprecated' ? 'old' : 'v1'
}

/** The codes of the contract; `group` is the group of their pages in the documentation. */
const codeLists = [
  { title: 'Reason codes', name: 'reason_code', group: 'errors' },
  { title: 'No-fill reasons', name: 'no_fill_reason', group: 'no-fill' },
] as const

type CodesProps = (typeof codeLists)[number] & { codes: readonly Json[]; search: string }

function Codes({ title, codes, name, search, group }: CodesProps) {
  const shown = codes.flatMap((code) => (isObject(code) && hasWords(JSON.stringify(code), search) ? [code] : []))
  return (
    <Panel title={title} actions={<Chip>{shown.length}</Chip>}>
      {shown.length === 0 ? (
        <p className="faint">No matches.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <section className="scroller code-list" tabIndex={0} aria-label={title}>
          <ul>
            {shown.map((code) => (
              <li key={String(code[name])}>
                <span className="bar wrap-line">
                  <a className="id" href={linkTo(`/_sandbox/docs/${group}/${String(code[name])}`)}>
                    {String(code[name])}
                  </a>
                  {typeof code.status === 'number' && <StatusChip status={code.status} />}
                  {code.retryable === true && <Chip tone="plain">retryable</Chip>}
                </span>
                <span className="soft">{String(code.message ?? code.meaning ?? '')}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Panel>
  )
}

function Pages({ search }: { search: string }) {
  const { status, data } = useLoaded('pages', readPages).state
  // The page of a single code, such as errors/beacon_stale, is found by a search.
  const shown = (data ?? []).filter(({ topic, title, summary, parts }) =>
    search === ''
      ? !topic.includes('/')
      : hasWords([topic, title, summary, ...parts.map(({ heading }) => heading)].join(' '), search),
  )
  const sections = Map.groupBy(shown, ({ section }) => section)
  return (
    <Panel title="Documentation" actions={<Chip>{shown.length}</Chip>}>
      {status === 'failed' && <Empty icon="page" title="The list of pages could not be read" />}
      {[...sections].map(([section, items]) => (
        <Section key={section} title={section} pages={items} />
      ))}
    </Panel>
  )
}

function Section({ title, pages }: { title: string; pages: readonly DocsPage[] }): ReactNode {
  return (
    <section className="docs-section">
      <h3 className="label soft">{title}</h3>
      <ul>
        {pages.map(({ topic, title, summary }) => (
          <li key={topic}>
            <a className="link" href={linkTo(`/_sandbox/docs/${topic === 'index' ? '' : topic}`)}>
              {title}
            </a>{' '}
            <span className="soft">{summary}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface DocsPage {
  topic: string
  title: string
  summary: string
  section: string
  parts: readonly { heading: string }[]
}

async function readPages(): Promise<DocsPage[]> {
  const response = await request('GET', '/_sandbox/docs/index.json')
  if (!response.ok) throw new Error(`The list of pages responded ${response.status}.`)
  const pages: unknown = await response.json()
  if (!Array.isArray(pages)) throw new Error('Expected a list of pages.')
  // Summaries are Markdown.
  return pages.filter(isDocsPage).map((page) => ({ ...page, summary: page.summary.replace(/[`*]/g, '') }))
}

function isDocsPage(page: unknown): page is DocsPage {
  return isObject(page) && typeof page.topic === 'string'
}
