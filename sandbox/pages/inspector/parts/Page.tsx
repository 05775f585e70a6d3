/** The frame of a view's content: its heading with actions. */
import { type ReactNode, useEffect } from 'react'
import { CopyButton } from './values/CopyButton.tsx'

export interface PageProps {
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
