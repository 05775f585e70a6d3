import { Link } from 'wouter'
import { nothing } from './Chip.tsx'
import { CopyButton } from './CopyButton.tsx'
import { type IdKind, routeTo } from './identifiers.ts'

interface IdProps {
  kind: IdKind
  id: string | null | undefined
  /** Default: the identifier. */
  children?: string
  /** Whether it has a copy button. Default false. */
  isCopied?: boolean
}

export function Id({ kind, id, children, isCopied = false }: IdProps) {
  if (id === null || id === undefined || id === '') return nothing
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
