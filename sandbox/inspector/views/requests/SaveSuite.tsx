/** Saves a request as a suite that `svc qa run` runs. */
import { useEffect, useState } from 'react'
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components'
import type { ApiProblem } from '../../data/api.ts'
import { problemOf } from '../../data/resource.ts'
import { Code } from '../../parts/Code.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Loading, Problem } from '../../parts/States.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { type KnownEndpoint, type SavedEntry, suiteOfEntry, suiteText } from './qa-suite.ts'

export interface SaveSuiteProps {
  entry: SavedEntry
  endpoints: readonly KnownEndpoint[]
}

export function SaveSuite({ entry, endpoints }: SaveSuiteProps) {
  return (
    <DialogTrigger>
      <Button className="small bar">
        <Icon name="check" />
        Save as QA step
      </Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="dialog-modal wide">
          <Dialog className="dialog">
            {({ close }) => (
              <>
                <header className="bar spread">
                  <Heading slot="title">QA step</Heading>
                  <Button className="copy soft" aria-label="Close" onPress={close}>
                    <Icon name="close" />
                  </Button>
                </header>
                <Suite entry={entry} endpoints={endpoints} />
              </>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  )
}

function Suite({ entry, endpoints }: SaveSuiteProps) {
  const [text, setText] = useState<string | null>(null)
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  useEffect(() => {
    let isShown = true
    suiteText(suiteOfEntry(entry, endpoints)).then(
      (written) => {
        if (isShown) setText(written)
      },
      (error) => {
        if (isShown) setProblem(problemOf(error))
      },
    )
    return () => {
      isShown = false
    }
  }, [entry, endpoints])
  if (problem !== null) return <Problem problem={problem} />
  if (text === null) return <Loading />
  return (
    <>
      <p className="soft">A suite of one case. Session, project, slots and tokens are those of the run.</p>
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
  )
}
