/** Saves a list as a CSV file: all its pages, with every field of the API. */
import { Button } from 'react-aria-components'
import { flattenRows, separatedText } from '#contract/separated.ts'
import type { EndpointId } from '../../data/api.ts'
import { readAllItems } from '../../data/list.ts'
import { saveFile } from '../../data/save-file.ts'
import { Outcome, useAction } from '../Dialog.tsx'
import { Icon } from '../Icon.tsx'

interface DownloadCsvProps {
  id: EndpointId
  query: Readonly<Record<string, string>>
}

const pageSize = 1_000
/** More would fill the memory of a tab: the command line writes any number. */
const maxItems = 100_000

export function DownloadCsv({ id, query }: DownloadCsvProps) {
  const action = useAction()
  const save = () =>
    action.run(async () => {
      const items = await readAllItems(id, query, { pageSize, maxItems })
      const name = `${id.slice(0, id.indexOf('.'))}-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.csv`
      saveCsv(items, name)
      return `Saved ${items.length.toLocaleString('en')} to ${name}.`
    })
  return (
    <span className="bar">
      <Button className="small bar" isDisabled={action.isRunning} onPress={save}>
        <Icon name="download" /> Download CSV
      </Button>
      <Outcome action={action} />
    </span>
  )
}

interface SaveRowsProps {
  rows: readonly object[]
  /** The name of the file. */
  name: string
}

/** Saves rows that a page has already. */
export function SaveRows({ rows, name }: SaveRowsProps) {
  return (
    <Button className="small bar" isDisabled={rows.length === 0} onPress={() => saveCsv(rows, name)}>
      <Icon name="download" /> Download CSV
    </Button>
  )
}

function saveCsv(rows: readonly unknown[], name: string): void {
  const text = separatedText(flattenRows(rows, true), 'csv', (cell) => cell.replace(/[\t\r\n]+/g, ' '))
  saveFile(new Blob([text], { type: 'text/csv' }), name)
}
