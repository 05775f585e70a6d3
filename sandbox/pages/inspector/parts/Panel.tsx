import { type ReactNode, useId } from 'react'

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
