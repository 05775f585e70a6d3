/** An identifier: a link to its page, with a button that copies it. */
import { Link } from 'wouter'
import { type IdKind, routeTo } from '../app/identifiers.ts'
import { CopyButton } from './CopyButton.tsx'

export interface IdProps {
  kind: IdKind
  id: string | null | undefined
  /** Default: the identifier. */
  children?: string
  /** Whether it has a copy button. Default false. */
  isCopied?: boolean
}

export function Id({ kind, id, children, isCopied = false }: IdProps) {
  if (id === null || id === undefined || id === '') return <span className="faint">–</span>
  const link = (
    <Link className="id" href={routeTo(kind, id)} title={id}>
      {children ?? id}
    </Link>
  )
  if (!isCopied) return link
  return (
    <span className="bar id-pair">
      {link}
      <CopyButton text={id} label={`Copy ${id}`} />
    </span>
  )
}
