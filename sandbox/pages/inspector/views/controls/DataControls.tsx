/** The state as a whole: snapshots, reset, export and import. */
import { useRef, useState } from 'react'
import { Button, FileTrigger, ProgressBar } from 'react-aria-components'
import type { Snapshot } from '#contract/resources/sandbox/snapshots.ts'
import { ApiProblem, buildAddress, call, type EndpointOutput, refusal, request } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { saveFile } from '../../data/save-file.ts'
import { currentSession } from '../../data/session.ts'
import { ConfirmButton } from '../../parts/ConfirmButton.tsx'
import { type Action, Outcome, useAction } from '../../parts/Dialog.tsx'
import { SubmitForm, TextInput } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { Time } from '../../parts/values/Time.tsx'

export function DataControls() {
  return (
    <div className="columns">
      <Snapshots />
      <div className="column">
        <Reset />
        <Export />
        <Import />
      </div>
    </div>
  )
}

function Snapshots() {
  const resource = useResource('snapshots.list', {})
  const [name, setName] = useState('')
  const action = useAction(resource.reload)
  const isTaken =
    resource.state.status === 'ready' && resource.state.data.items.some((snapshot) => snapshot.name === name)
  const save = (replace: boolean) =>
    action.run(
      () => call('snapshots.save', { params: { name }, body: replace ? { replace } : {} }),
      replace ? `${name} is replaced.` : `Saved as ${name}.`,
    )
  return (
    <Panel title="Snapshots" lead="The complete state at one point in time. Requests continue meanwhile.">
      <SubmitForm className="form-line" onSubmit={() => name !== '' && !isTaken && save(false)}>
        <TextInput
          label="Name"
          value={name}
          onChange={setName}
          placeholder="before-the-demo"
          hint="Lower-case letters, digits, dots, - and _."
        />
        {isTaken ? (
          <ConfirmButton
            title={`Replace ${name}?`}
            text="The snapshot with this name is replaced by the current state."
            confirm="Replace"
            onConfirm={() => save(true)}
          />
        ) : (
          <Button type="submit" className="small primary" isDisabled={name === '' || action.isRunning}>
            Save
          </Button>
        )}
      </SubmitForm>
      <Outcome action={action} />
      <Shown resource={resource}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="image" title="No snapshots yet" />
          ) : (
            <ul className="cards">
              {items.map((snapshot) => (
                <SnapshotCard key={snapshot.name} snapshot={snapshot} action={action} />
              ))}
            </ul>
          )
        }
      </Shown>
    </Panel>
  )
}

function SnapshotCard({ snapshot, action }: { snapshot: Snapshot; action: Action }) {
  const { name, saved_at_ms, size_bytes } = snapshot
  const params = { name }
  return (
    <li className="box card">
      <div className="grow">
        <p>
          <code>{name}</code>
        </p>
        <p className="faint tiny">
          <Time at_ms={saved_at_ms} show="date" /> · {formatSize(size_bytes)}
        </p>
      </div>
      <ConfirmButton
        title={`Restore ${name}?`}
        text="Everything that happened since then is lost, unless you save it first."
        confirm="Restore"
        onConfirm={() => action.run(() => call('snapshots.restore', { params, body: {} }), `${name} is restored.`)}
      />
      <ConfirmButton
        title={`Delete ${name}?`}
        text="The state of the sandbox does not change."
        confirm="Delete"
        onConfirm={() => action.run(() => call('snapshots.delete', { params }), `${name} is deleted.`)}
      />
    </li>
  )
}

function Reset() {
  const action = useAction()
  return (
    <Panel title="Reset" lead="Back to the seeded projects, keys and demand, and to system time.">
      <ConfirmButton
        title="Reset the sandbox?"
        text="Placements, beacons, consent, evidence, the journal, faults and the scenario are lost. Snapshots stay."
        confirm="Reset"
        again={{ text: 'Without a snapshot this cannot be undone. Reset now?', confirm: 'Yes, reset everything' }}
        isDisabled={action.isRunning}
        onConfirm={() =>
          action.run(async () => {
            await call('sandbox.reset', { body: {} })
            return 'The sandbox was reset.'
          })
        }
      >
        Reset to the seed
      </ConfirmButton>
      <Outcome action={action} />
    </Panel>
  )
}

/** A file of this size or more would strain the memory of a page. */
const maxInMemory = 1_000_000_000

function Export() {
  const action = useAction()
  const [received, setReceived] = useState<number | null>(null)
  const run = () =>
    action.run(async () => {
      setReceived(0)
      try {
        const response = await request('GET', buildAddress('sandbox.export'))
        if (!response.ok || response.body === null) throw refusal(response.status, await response.text())
        const chunks: Uint8Array<ArrayBuffer>[] = []
        let bytes = 0
        const reader = response.body.getReader()
        for (;;) {
          const { done, value } = await reader.read()
          if (done) break
          chunks.push(value)
          bytes += value.byteLength
          setReceived(bytes)
          if (bytes > maxInMemory) {
            await reader.cancel()
            throw new ApiProblem(
              0,
              { hint: 'Use the command line: svc sandbox export state.svc' },
              'The export is too large for a page.',
            )
          }
        }
        const name = `sandbox-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.svc`
        saveFile(new Blob(chunks, { type: 'application/gzip' }), name)
        return `Saved ${name}, ${formatSize(bytes)}.`
      } finally {
        setReceived(null)
      }
    })
  return (
    <Panel title="Export" lead="The whole state as one file: key hashes but no keys, and no prompt text.">
      <div className="bar">
        <Button className="small bar" isDisabled={action.isRunning} onPress={run}>
          <Icon name="download" /> Export
        </Button>
        {received !== null && <Chip>{formatSize(received)}</Chip>}
      </div>
      <Outcome action={action} />
    </Panel>
  )
}

function Import() {
  const action = useAction()
  const [file, setFile] = useState<File | null>(null)
  const [share, setShare] = useState<number | null>(null)
  const upload = useRef<XMLHttpRequest>(null)
  return (
    <Panel title="Import" lead="Replaces the whole state with an export. A file that fails its checks changes nothing.">
      <div className="bar wrap-line">
        <FileTrigger
          acceptedFileTypes={['.svc', '.gz', 'application/gzip']}
          onSelect={(files) => setFile(files?.[0] ?? null)}
        >
          <Button className="small">Choose a file</Button>
        </FileTrigger>
        {file !== null && (
          <>
            <span className="clipped">
              {file.name}, {formatSize(file.size)}
            </span>
            <ConfirmButton
              title={`Import ${file.name}?`}
              text="The state of this sandbox is replaced by the file."
              confirm="Import"
              isDisabled={action.isRunning}
              onConfirm={() => void importFile(file)}
            />
          </>
        )}
      </div>
      {share !== null && (
        <div className="bar">
          <ProgressBar className="progress grow" aria-label="Import" value={share * 100}>
            {({ percentage }) => (
              <>
                <span className="progress-track">
                  <span className="progress-bar" style={{ width: `${percentage}%` }} />
                </span>
                <span className="faint tiny">
                  {share < 1 ? `${Math.round(percentage ?? 0)} % sent` : 'checked and restored'}
                </span>
              </>
            )}
          </ProgressBar>
          <Button className="small" onPress={() => upload.current?.abort()}>
            Stop
          </Button>
        </div>
      )}
      <Outcome action={action} />
    </Panel>
  )

  function importFile(chosen: File): Promise<boolean> {
    return runImport(action, chosen, upload, setShare).then((isDone) => {
      setShare(null)
      if (isDone) setFile(null)
      return isDone
    })
  }
}

/** Uploads by XMLHttpRequest: fetch does not report the bytes that were sent. */
function runImport(
  action: Action,
  file: File,
  upload: { current: XMLHttpRequest | null },
  onShare: (share: number) => void,
): Promise<boolean> {
  return action.run(
    () =>
      new Promise<string>((resolve, reject) => {
        const xhr = new XMLHttpRequest()
        upload.current = xhr
        xhr.open('POST', buildAddress('sandbox.import'))
        xhr.setRequestHeader('content-type', 'application/gzip')
        xhr.setRequestHeader('x-sandbox-token', currentSession()?.token ?? '')
        onShare(0)
        xhr.upload.onprogress = ({ loaded, total }) => onShare(total === 0 ? 0 : loaded / total)
        xhr.onload = () => {
          if (xhr.status !== 200) return reject(refusal(xhr.status, xhr.responseText))
          const { projects, evidence_entries }: EndpointOutput<'sandbox.import'> = JSON.parse(xhr.responseText)
          resolve(`Imported: ${projects} projects, ${evidence_entries} evidence entries, all verified.`)
        }
        xhr.onabort = () => resolve('Stopped: nothing has changed.')
        xhr.onerror = () => reject(new ApiProblem(0, {}, 'The sandbox does not respond.'))
        xhr.send(file)
      }),
  )
}

/** Returns `512 B`, `12.3 kB`, `1.2 MB`. */
function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
