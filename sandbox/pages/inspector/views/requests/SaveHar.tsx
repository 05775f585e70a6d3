/** Saves exchanges of the journal as a HAR file, which the network panels of browsers open. */
import { Button } from 'react-aria-components'
import { toHarEntry, writeHar } from '#contract/recordings/har.ts'
import type { RequestDetail } from '#contract/resources/requests.ts'
import { readAllItems } from '../../data/list.ts'
import { saveFile } from '../../data/save-file.ts'
import { currentSession } from '../../data/session.ts'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { Icon } from '../../parts/Icon.tsx'

/** As many as a page with headers and bodies may have. */
const pageSize = 250
/** More would fill the memory of a tab: the command line writes any number. */
const maxExchanges = 5_000

/** Saves the exchanges that a query of the list selects, the newest ones if there are many. */
export function SaveHar({ query }: { query: Readonly<Record<string, string>> }) {
  const action = useAction()
  const save = () =>
    action.run(async () => {
      const selected = { ...query, details: 'true' }
      const newest = await readAllItems<RequestDetail>('requests.list', selected, { pageSize, maxItems: maxExchanges })
      const exchanges = newest.toReversed()
      if (exchanges.length === 0) return 'There is no request to save.'
      const name = `requests-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.har`
      await saveHar(exchanges, name)
      return `Saved ${exchanges.length} to ${name}.`
    })
  return (
    <span className="bar">
      <Outcome action={action} />
      <Button className="small bar" isDisabled={action.isRunning} onPress={save}>
        <Icon name="download" /> Save as HAR
      </Button>
    </span>
  )
}

export function SaveEntryAsHar({ entry }: { entry: RequestDetail }) {
  return (
    <Button className="small bar" onPress={() => saveHar([entry], `${entry.request_id}.har`)}>
      <Icon name="download" /> Save as HAR
    </Button>
  )
}

/** `exchanges`: oldest first. */
async function saveHar(exchanges: readonly RequestDetail[], name: string): Promise<void> {
  const { base_url, version } = currentSession()!
  const pieces: string[] = []
  const entries = exchanges.map((exchange) => toHarEntry(exchange, base_url))
  for await (const piece of writeHar(entries, version)) pieces.push(piece)
  saveFile(new Blob(pieces, { type: 'application/json' }), name)
}
