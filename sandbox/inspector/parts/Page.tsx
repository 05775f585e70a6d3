/** The frame of what a view shows: its heading with actions, panels with a title, parts behind tabs, and pairs of a name and a value. */

import { type ReactNode, useEffect, useId } from 'react'
import { Tab, TabList, TabPanel, Tabs, type TabsProps } from 'react-aria-components'
import { CopyButton } from './Values.tsx'

export interface PageProps {
  /** Of the view, or of what it shows. */
  title: string
  /** The kind of identifier that the title is: it has a button that copies it. */
  copies?: string
  /** Shown in place of the title. */
  heading?: ReactNode
  /** One sentence below the heading. */
  lead?: ReactNode
  actions?: ReactNode
  /** Whether the content fills the window and scrolls by itself, as a list does. */
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
  /** Beside the title, at its end. */
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

/** Pairs of a name and a value. A value of null or undefined leaves its pair out. */
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
  /** What the tabs are, for screen readers. */
  label: string
  tabs: readonly { id: string; title: string; content: ReactNode }[]
  onSelect?(id: string): void
  /** Of the whole, and of what a tab shows. */
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
