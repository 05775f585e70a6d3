/**
 * JSON as a tree whose parts fold, whose identifiers lead to their page, and whose fields show their provenance in the
 * contract.
 */
import { type ReactNode, useState } from 'react'
import { Button, Tooltip, TooltipTrigger } from 'react-aria-components'
import { Link } from 'wouter'
import { isExactNumber } from '#foundation/json/exact-numbers.ts'
import { readableJson } from '#foundation/json.ts'
import { type FieldOrigin, type Part, type Provenance, plainPath, useProvenance } from '../data/provenance.ts'
import { Icon } from './Icon.tsx'
import { Chip } from './values/Chip.tsx'
import { CopyButton } from './values/CopyButton.tsx'
import { detectKind, routeTo } from './values/identifiers.ts'

export interface JsonProps {
  value: unknown
  /** The endpoint whose fields it has, for their provenance: `placements.create`. */
  endpoint?: string | undefined
  /** The part of the endpoint. Default response. */
  part?: Part
  /** Where the value is inside that part: `decision`. */
  prefix?: string
  /** Dotted paths of fields to mark, with the reason. */
  marks?: Readonly<Record<string, string>> | undefined
  /** The name of the code, for screen readers and the copy button. */
  label: string
}

const openLevels = 3

/** Entries of one level that are shown from the start. */
const maxEntries = 100

export function Json({ value, endpoint, part = 'response', prefix = '', marks, label }: JsonProps) {
  const provenance = useProvenance(endpoint, part)
  return (
    <div className="json">
      <CopyButton text={() => JSON.stringify(value, null, 2)} label={`Copy ${label} as JSON`} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section className="scroller json-tree" aria-label={label} tabIndex={0}>
        <Value name={null} value={value} path="" level={0} context={{ provenance, marks, prefix }} />
      </section>
    </div>
  )
}

interface Context {
  provenance: Provenance | undefined
  marks: Readonly<Record<string, string>> | undefined
  prefix: string
}

interface ValueProps {
  name: string | null
  value: unknown
  path: string
  level: number
  context: Context
}

function Value({ name, value, path, level, context }: ValueProps) {
  const isBranch = typeof value === 'object' && value !== null && !isExactNumber(value)
  const entries = isBranch ? Object.entries(value) : []
  const [isOpen, setOpen] = useState(level < openLevels && entries.length <= maxEntries)
  const [count, setCount] = useState(maxEntries)
  const mark = context.marks?.[path]
  const isMarked = mark !== undefined || undefined
  const label = (
    <ValueLabel name={name} path={path} mark={mark} leaf={isBranch ? null : <Leaf value={value} />} context={context} />
  )
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (entries.length === 0) {
    return (
      <div className="json-line" data-marked={isMarked}>
        {label}
        {isBranch && <span className="faint">{open + close}</span>}
      </div>
    )
  }
  return (
    <div className="json-branch">
      <div className="json-line" data-marked={isMarked}>
        <FoldButton name={name} isOpen={isOpen} fold={() => setOpen(!isOpen)} />
        {label}
        <span className="faint">
          {open}
          {!isOpen && ` ${entries.length} ${close}`}
        </span>
      </div>
      {isOpen && (
        <>
          <div className="json-children">
            {entries.slice(0, count).map(([key, child]) => (
              <Value
                key={key}
                name={Array.isArray(value) ? null : key}
                value={child}
                path={path === '' ? key : `${path}.${key}`}
                level={level + 1}
                context={context}
              />
            ))}
            {entries.length > count && (
              <Button className="small quiet" onPress={() => setCount(count + 10 * maxEntries)}>
                {entries.length - count} more
              </Button>
            )}
          </div>
          <div className="json-line faint">{close}</div>
        </>
      )}
    </div>
  )
}

function FoldButton({ name, isOpen, fold }: { name: string | null; isOpen: boolean; fold(): void }) {
  const label = `${isOpen ? 'Fold' : 'Unfold'} ${name ?? 'everything'}`
  return (
    <Button className="json-fold" aria-expanded={isOpen} aria-label={label} onPress={fold}>
      <Icon name="chevron" />
    </Button>
  )
}

interface ValueLabelProps extends Pick<ValueProps, 'name' | 'path' | 'context'> {
  mark: string | undefined
  leaf: ReactNode
}

/** The name of a value, the value itself where it has no fields, and its mark. */
function ValueLabel({ name, path, mark, leaf, context: { provenance, prefix } }: ValueLabelProps) {
  return (
    <>
      {name !== null && (
        <Name name={name} origin={provenance?.get(plainPath(prefix === '' ? path : `${prefix}.${path}`))} />
      )}
      {leaf}
      {mark !== undefined && <span className="json-mark"> {mark}</span>}
    </>
  )
}

function Name({ name, origin }: { name: string; origin: FieldOrigin | undefined }) {
  if (origin === undefined) return <span className="json-name">{readableJson(name).slice(1, -1)}: </span>
  const { provenance, decision, description } = origin
  return (
    <TooltipTrigger delay={250}>
      <Button className="json-name" data-provenance={provenance}>
        {name}:{' '}
      </Button>
      <Tooltip className="tooltip" placement="top start">
        <span className="bar">
          <Chip>{provenance}</Chip>
          {decision !== null && <code>{decision}</code>}
        </span>
        {description}
      </Tooltip>
    </TooltipTrigger>
  )
}

function Leaf({ value }: { value: unknown }) {
  if (isExactNumber(value)) return <span className="json-scalar">{value.rawJSON}</span>
  if (typeof value !== 'string') return <span className="json-scalar">{String(value)}</span>
  const kind = detectKind(value)
  if (kind !== null && kind !== 'evidence') {
    return (
      <Link className="id" href={routeTo(kind, value)}>
        {readableJson(value)}
      </Link>
    )
  }
  return <span className="json-string">{readableJson(value)}</span>
}
