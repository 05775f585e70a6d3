/** Compares a file of the integrator's own counts with what was accepted: `svc beacons reconcile` on a page. */
import { useMemo, useState } from 'react'
import type { Mode } from '#contract/fields.ts'
import { describeDays, selectTurns } from '#reconciliation/compared-span.ts'
import { parsePercent } from '#reconciliation/difference.ts'
import { defaultMode, describeModes, type Reconciliation, reconcile } from '#reconciliation/reconciliation.ts'
import { readTurns, type Turns } from '#reconciliation/turns.ts'
import { call } from '../../data/api.ts'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { Segments, TextInput } from '../../parts/Fields.tsx'
import { FileDrop } from '../../parts/FileDrop.tsx'
import { Page } from '../../parts/Page.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Loading } from '../../parts/Shown.tsx'
import { ColumnChoices } from './ColumnChoices.tsx'
import { type Choices, type ChosenFile, loadFile, type ReadFile, readChosen } from './own-file-state.ts'
import { ReconciliationReport } from './ReconciliationReport.tsx'

type ChosenMode = Mode | 'all' | 'auto'

export function ReconciliationPage() {
  const action = useAction()
  const [file, setFile] = useState<ChosenFile | null>(null)
  const [turns, setTurns] = useState<Turns | null>(null)
  const [columns, setColumns] = useState<Choices>({})
  const read = useMemo(
    () => (file === null ? null : readChosen(file, columns, turns?.turns ?? [])),
    [file, columns, turns],
  )
  const choose = (load: () => Promise<ChosenFile>) =>
    action.run(async () => {
      setFile(null)
      const chosen = await load()
      setTurns(await loadTurns())
      setColumns({})
      setFile(chosen)
    }, '')
  return (
    <Page
      title="Compare your own counts"
      lead="What you counted beside what was accepted, and the cause of each difference. The file stays in this tab."
    >
      <div className="column">
        <FileDrop
          label="Drop a file of your counts here"
          name={file?.name ?? null}
          remark="CSV, TSV or JSON, with a row for each slot, asset token, session or day, or for each event."
          types={['.csv', '.tsv', '.json', '.jsonl', '.ndjson', '.txt', 'text/csv', 'text/tab-separated-values']}
          onChoose={(load) => choose(async () => loadFile(await load()))}
        />
        {action.isRunning && <Loading label="Reading the file and the turns" />}
        <Outcome action={action} />
        {read !== null && <ColumnChoices read={read} chosen={columns} onChange={setColumns} />}
        {read?.status === 'read' && turns !== null && <Comparison own={read.report} turns={turns.turns} />}
      </div>
    </Page>
  )
}

function loadTurns(): Promise<Turns> {
  return readTurns({
    placements: (query) => call('placements.list', { query }),
    beacons: (query) => call('beacons.list', { query }),
  })
}

interface ComparisonProps {
  own: Extract<ReadFile, { status: 'read' }>['report']
  turns: Turns['turns']
}

function Comparison({ own, turns: all }: ComparisonProps) {
  const [mode, setMode] = useState<ChosenMode>('auto')
  const [tolerance, setTolerance] = useState('0')
  const percent = parsePercent(tolerance)
  const { turns, days } = useMemo(() => selectTurns(own.counts, all, { since_ms: null, until_ms: null }), [own, all])
  const usual = useMemo(() => defaultMode(own.counts, turns), [own, turns])
  const shown = mode === 'auto' ? usual : mode
  const result = useMemo<Reconciliation>(
    () => reconcile(own.counts, turns, { mode: shown, since_ms: null, until_ms: null }, percent ?? 0),
    [own, turns, shown, percent],
  )
  return (
    <>
      <Panel
        title="Compared"
        lead={[describeDays(days), describeModes(result)].filter((text) => text !== null).join(' ')}
      >
        <div className="bar wrap-line">
          <Segments
            label="Traffic"
            value={mode}
            onChange={setMode}
            values={[
              ['auto', `by your file: ${usual === 'all' ? 'both' : usual}`],
              ['live', 'live'],
              ['test', 'test'],
              ['all', 'both'],
            ]}
          />
          <TextInput
            label="Tolerance, percent"
            value={tolerance}
            onChange={setTolerance}
            isNumeric
            problem={percent === null ? 'A percentage, such as 1 or 0.5' : undefined}
          />
        </div>
      </Panel>
      {all.length === 0 ? (
        <Empty icon="billing" title="This sandbox has no turn yet">
          Every row of your file was never requested here.
        </Empty>
      ) : null}
      <ReconciliationReport result={result} own={own} turns={turns} is_empty={all.length === 0} />
    </>
  )
}
