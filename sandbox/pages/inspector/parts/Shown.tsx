/** What a view shows while it is loading, when it is empty, and when it could not be read. */
import type { ReactNode } from 'react'
import { Button, ProgressBar } from 'react-aria-components'
import type { ApiProblem } from '../data/api.ts'
import type { Loaded, Resource } from '../data/resource.ts'
import { linkTo } from '../data/session.ts'
import { Icon, type IconName } from './Icon.tsx'
import { Chip } from './values/Chip.tsx'

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

export function Shown<Data>({ resource, missing, children }: ShownProps<Data>) {
  const { state, reload }: { state: Loaded<Data>; reload: () => void } = resource
  if (state.status === 'loading') return <Loading />
  if (state.status === 'failed') {
    if (state.problem.status === 404 && missing !== undefined) return missing
    return <Problem problem={state.problem} retry={reload} />
  }
  return children(state.data)
}
