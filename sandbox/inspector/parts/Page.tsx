/**
 * The frame of a view's content: its heading with actions, panels with a title, parts behind tabs, and name-value
 * pairs; and its replacements while there is no content, or when it could not be read.
 */
import { type ReactNode, useEffect, useId } from 'react'
import { Button, ProgressBar, Tab, TabList, TabPanel, Tabs, type TabsProps } from 'react-aria-components'
import { type ApiProblem, linkTo } from '../data/api.ts'
import type { Loaded, Resource } from '../data/resource.ts'
import { Icon, type IconName } from './Icon.tsx'
import { Chip, CopyButton } from './Values.tsx'

export interface PageProps {
  /** The title of the view, or of its content. */
  title: string
  /** The kind of identifier in the title, which gets a copy button. */
  copies?: string
  /** Shown in place of the title. */
  heading?: ReactNode
  /** One sentence below the heading. */
  lead?: ReactNode
  actions?: ReactNode
  /** Whether the content fills the window and scrolls itself, as a list does. */
  isFull?: boolean
  children: ReactNode
}

export function Page({ title, copies, heading, lead, actions, isFull = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · svc sandbox`
  }, [title])
  return (
    <div className={isFull ? 'page full' : 'page'}>
      <header className="page-head">
        <div className="grow">
          <h1>
            {copies === undefined ? (
              (heading ?? title)
            ) : (
              <span className="bar">
                <code className="clipped">{title}</code>
                <CopyButton text={title} label={`Copy the ${copies}`} />
              </span>
            )}
          </h1>
          {lead !== undefined && <p className="soft">{lead}</p>}
        </div>
        {actions !== undefined && <div className="bar actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

interface PanelProps {
  title: string
  /** Next to the title, at its end. */
  actions?: ReactNode
  /** Below the title. */
  lead?: ReactNode
  className?: string
  children: ReactNode
}

export function Panel({ title, actions, lead, className = '', children }: PanelProps) {
  const id = useId()
  return (
    <section className={`panel ${className}`} aria-labelledby={id}>
      <header className="bar spread panel-head">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div className="bar">{actions}</div>}
      </header>
      {lead !== undefined && <p className="soft panel-lead">{lead}</p>}
      {children}
    </section>
  )
}

/** Name-value pairs. A pair whose value is null or undefined is left out. */
export function KeyValues({ pairs }: { pairs: readonly (readonly [name: string, value: ReactNode])[] }) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '')
  return (
    <dl className="pairs">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface TabSetProps extends Pick<TabsProps, 'selectedKey'> {
  /** The name of the tabs, for screen readers. */
  label: string
  tabs: readonly { id: string; title: string; content: ReactNode }[]
  onSelect?(id: string): void
  /** Classes of the whole, and of a tab's content. */
  className?: string
  panelClassName?: string
}

export function TabSet({ label, tabs, onSelect, className = '', panelClassName = '', ...selected }: TabSetProps) {
  return (
    <Tabs className={`tabs ${className}`} onSelectionChange={(key) => onSelect?.(String(key))} {...selected}>
      <TabList className="tab-list" aria-label={label}>
        {tabs.map(({ id, title }) => (
          <Tab key={id} id={id} className="tab">
            {title}
          </Tab>
        ))}
      </TabList>
      {tabs.map(({ id, content }) => (
        <TabPanel key={id} id={id} className={panelClassName}>
          {content}
        </TabPanel>
      ))}
    </Tabs>
  )
}

/* What a view shows while it is loading, when it is empty, and when it could not be read. */

export function Loading({ label = 'Loading' }: { label?: string }) {
  return (
    <ProgressBar isIndeterminate aria-label={label} className="loading">
      <span className="loading-bar" />
    </ProgressBar>
  )
}

interface EmptyProps {
  icon?: IconName
  title: string
  /** How to add the first item. */
  children?: ReactNode
}

export function Empty({ icon = 'search', title, children }: EmptyProps) {
  return (
    <div className="empty">
      <span className="empty-icon">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {children !== undefined && <div className="soft">{children}</div>}
    </div>
  )
}

/** Where an unknown identifier may come from. */
export const elsewhere = 'It may belong to another sandbox or to a state before a reset.'

export function Problem({ problem, retry }: { problem: ApiProblem; retry?: () => void }) {
  const { status, reason_code, message, hint, docs_url, fields } = problem
  return (
    <div className="problem" role="alert">
      <h2 className="bar">
        {message} <Chip tone="bad">{status === 0 ? reason_code : `${status} ${reason_code}`}</Chip>
      </h2>
      {hint !== null && <p className="soft">{hint}</p>}
      {fields.length > 0 && (
        <ul>
          {fields.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      <div className="bar">
        {retry !== undefined && (
          <Button className="small" onPress={retry}>
            Try again
          </Button>
        )}
        {docs_url !== null && docsPath(docs_url) !== null && (
          <a className="link" href={linkTo(docsPath(docs_url) ?? '')} target="_blank" rel="noreferrer">
            About this error
          </a>
        )}
      </div>
    </div>
  )
}

/** Returns the path of a page of this sandbox; null for any other address. */
function docsPath(docs_url: string): string | null {
  try {
    const { pathname, hash } = new URL(docs_url, location.origin)
    return pathname.startsWith('/_sandbox/docs/') ? pathname + hash : null
  } catch {
    return null
  }
}

interface ShownProps<Data> {
  resource: Resource<Data>
  /** Instead of a 404. */
  missing?: ReactNode
  children(data: Data): ReactNode
}

/** Shows a resource in each of its states. */
export function Shown<Data>({ resource, missing, children }: ShownProps<Data>) {
  const { state, reload }: { state: Loaded<Data>; reload: () => void } = resource
  if (state.status === 'loading') return <Loading />
  if (state.status === 'failed') {
    if (state.problem.status === 404 && missing !== undefined) return missing
    return <Problem problem={state.problem} retry={reload} />
  }
  return children(state.data)
}
