/** Saves a request as a suite that `svc qa run` runs. */
import { Button } from 'react-aria-components'
import type { RequestDetail } from '#contract/resources/requests.ts'
import type { ListedEndpoint } from '../../data/provenance.ts'
import { useLoaded } from '../../data/resource.ts'
import { saveFile } from '../../data/save-file.ts'
import { Code } from '../../parts/Code.tsx'
import { DialogButton } from '../../parts/Dialog.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Shown } from '../../parts/Shown.tsx'
import { suiteOfEntry, suiteText } from './qa-suite.ts'

interface SaveSuiteProps {
  entry: RequestDetail
  endpoints: readonly ListedEndpoint[]
}

export function SaveSuite({ entry, endpoints }: SaveSuiteProps) {
  return (
    <DialogButton icon="check" label="Save as QA step" title="QA step" isWide>
      <Suite entry={entry} endpoints={endpoints} />
    </DialogButton>
  )
}

function Suite({ entry, endpoints }: SaveSuiteProps) {
  const suite = useLoaded(`${entry.request_id} ${endpoints.length}`, () => suiteText(suiteOfEntry(entry, endpoints)))
  return (
    <Shown resource={suite}>
      {(text) => (
        <>
          <p className="soft">A suite with one case. The run fills in session, project, slots and tokens.</p>
          <Code code={text} label="Suite" />
          <div className="bar dialog-actions">
            <Button
              className="small primary bar"
              onPress={() => saveFile(new Blob([text], { type: 'application/yaml' }), `${entry.request_id}.yaml`)}
            >
              <Icon name="download" /> Download {entry.request_id}.yaml
            </Button>
          </div>
          <Code code={`svc qa run ./${entry.request_id}.yaml`} label="Command" isCommand />
        </>
      )}
    </Shown>
  )
}
