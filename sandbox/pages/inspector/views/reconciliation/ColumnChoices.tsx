import { type OwnField, ownFields } from '#reconciliation/column-words.ts'
import { SelectInput } from '../../parts/Fields.tsx'
import { Panel } from '../../parts/Panel.tsx'
import type { Choices, ReadFile } from './own-file-state.ts'

interface ColumnChoicesProps {
  read: ReadFile
  chosen: Choices
  onChange(chosen: Choices): void
}

/** What is wrong with the file, and which of its columns holds what. */
export function ColumnChoices({ read, chosen, onChange }: ColumnChoicesProps) {
  const { names } = read
  const found = new Map(read.status === 'read' ? read.report.columns.map(({ field, column }) => [field, column]) : [])
  const isOpen = read.status === 'refused' && read.rows.length === 0
  return (
    <Panel title="Columns" lead={found.size === 0 ? undefined : <Found columns={found} />}>
      {read.status === 'refused' && (
        <div className="problem" role="alert">
          <h2>{read.message}</h2>
          {read.rows.length > 0 && (
            <ul>
              {read.rows.map((row) => (
                <li key={row}>{row}</li>
              ))}
            </ul>
          )}
          <p className="soft">{read.hint}</p>
        </div>
      )}
      {names.length > 0 && (
        <details open={isOpen || undefined}>
          <summary className="soft">Choose the columns, and how values are written</summary>
          <div className="column-choices">
            {ownFields.map((field) => (
              <SelectInput<string>
                key={field}
                label={field.replaceAll('_', ' ')}
                value={chosen[field] ?? ''}
                onChange={(column) => onChange({ ...chosen, [field]: column })}
                values={[['', `by its name${found.has(field) ? `: ${found.get(field)}` : ''}`], ...listNames(names)]}
              />
            ))}
            {examples.map(([name, label, values]) => (
              <SelectInput<string>
                key={name}
                label={label}
                value={chosen[name] ?? ''}
                onChange={(example) => onChange({ ...chosen, [name]: example })}
                values={[['', 'by the file'], ...values.map((example) => [example, example] as const)]}
              />
            ))}
          </div>
        </details>
      )}
    </Panel>
  )
}

const examples = [
  ['numbers', 'Numbers are written', ['1.234,5', '1,234.5']],
  ['dates', 'Days are written', ['31.12.2026', '12/31/2026']],
] as const

function listNames(names: readonly string[]): (readonly [string, string])[] {
  return [...new Set(names)].filter((name) => name !== '').map((name) => [name, name])
}

function Found({ columns }: { columns: ReadonlyMap<OwnField, string> }) {
  return (
    <>
      {[...columns].map(([field, column], index) => (
        <span key={field}>
          {index > 0 && ', '}
          {field.replaceAll('_', ' ')} from <code>{column}</code>
        </span>
      ))}
    </>
  )
}
