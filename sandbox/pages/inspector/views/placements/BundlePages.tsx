/**
 * `/bundles`: files of `svc bundle create`, dropped here, which came from this sandbox or another. `/bundles/bun_...` shows one beside
 * what this sandbox knows of the same slot today.
 */
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { Bundle, BundleTurn } from '#contract/bundles/bundle.ts'
import type { ImportedBundle } from '#contract/resources/bundles.ts'
import { call } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { type Action, Outcome, useAction } from '../../parts/Dialog.tsx'
import { FileDrop } from '../../parts/FileDrop.tsx'
import { Page } from '../../parts/Page.tsx'
import { KeyValues, Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { TabSet } from '../../parts/TabSet.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { Time } from '../../parts/values/Time.tsx'
import { PlacementPanels } from './PlacementPage.tsx'

export function BundlesPage() {
  const resource = useResource('bundles.list', {})
  const action = useAction(resource.reload)
  return (
    <Page title="Bundles" lead="A turn as one file. Look at one that somebody sent you beside what this sandbox knows.">
      <Drop action={action} />
      <Outcome action={action} />
      <Shown resource={resource}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="placements" title="No bundle was imported since the start">
              <p>Drop one above, or write one:</p>
              <code>svc bundle create</code>
            </Empty>
          ) : (
            <Panel title="Imported" lead="They are kept until the sandbox stops.">
              <ul className="cards">
                {items.map((item) => (
                  <ImportedLine key={item.bundle_id} item={item} />
                ))}
              </ul>
            </Panel>
          )
        }
      </Shown>
    </Page>
  )
}

function Drop({ action }: { action: Action }) {
  const [, navigate] = useLocation()
  const importFile = (load: () => Promise<File>) =>
    action.run(async () => {
      const file = await load()
      const { bundle_id } = await call('bundles.import', { body: { text: await file.text() } })
      navigate(`/bundles/${bundle_id}`)
      return `${file.name} is imported.`
    })
  return (
    <FileDrop
      label="Drop a bundle here"
      remark="A file that svc bundle create wrote, here or elsewhere."
      types={['.html', '.json']}
      onChoose={(load) => void importFile(load)}
    />
  )
}

function ImportedLine({ item }: { item: ImportedBundle }) {
  const { bundle_id, slot_ids, session_id, at_ms } = item
  return (
    <li className="bar wrapping">
      <Link href={`/bundles/${bundle_id}`}>{slot_ids.length === 1 ? slot_ids[0] : `${slot_ids.length} turns`}</Link>
      <Verdict item={item} />
      <span className="soft">{session_id}</span>
      <span className="soft">
        written <Time at_ms={at_ms} />
      </span>
    </li>
  )
}

function Verdict({ item: { problem, is_own } }: { item: Pick<ImportedBundle, 'problem' | 'is_own'> }) {
  if (problem !== null) return <Chip tone="warn">changed</Chip>
  return <Chip tone="good">{is_own ? 'signed here' : 'signed by another sandbox'}</Chip>
}

export function BundlePage({ id }: { id: string }) {
  const resource = useResource('bundles.show', { params: { bundle_id: id } })
  return (
    <Page title="A bundle" lead="As it was written, beside what this sandbox knows of the same slot today">
      <Shown
        resource={resource}
        missing={
          <Empty icon="placements" title="This bundle is not here">
            It was imported before the last start, or 20 others came after it: import its file again.
          </Empty>
        }
      >
        {(imported) => {
          const { text, problem, not_compared } = imported
          const bundle: Bundle = JSON.parse(text)
          return (
            <>
              <Panel title="File">
                <KeyValues
                  pairs={[
                    ['Proof', <Verdict key="proof" item={imported} />],
                    ['Changed', problem],
                    ['Not compared', not_compared],
                    ['Project', bundle.client_id],
                    ['Session', bundle.session_id],
                    ['Written', <Time key="at" at_ms={bundle.at_ms} />],
                    ['By', `svc ${bundle.svc_version}`],
                  ]}
                />
              </Panel>
              {bundle.turns.map((turn) => (
                <Turn key={turn.placement.slot_id} turn={turn} />
              ))}
            </>
          )
        }}
      </Shown>
    </Page>
  )
}

function Turn({ turn }: { turn: BundleTurn }) {
  const { placement, evidence } = turn
  const { slot_id } = placement
  const now = useResource('placements.explain', { params: { slot_id } }, (event) => event.slot_id === slot_id)
  const tabs: { id: string; title: string; content: ReactNode }[] = [
    {
      id: 'then',
      title: 'In the file',
      content: <PlacementPanels placement={{ ...placement, evidence }} frame={<Still turn={turn} />} />,
    },
    {
      id: 'now',
      title: 'Here, now',
      content: (
        <Shown
          resource={now}
          missing={
            <Empty icon="placements" title="This sandbox does not know the slot">
              It is from another sandbox, or the state was reset.
            </Empty>
          }
        >
          {(present) => <PlacementPanels placement={present} />}
        </Shown>
      ),
    },
  ]
  return (
    <section>
      <h2 className="bar turn-head">
        <Id kind="placement" id={slot_id} />
      </h2>
      <TabSet label={slot_id} tabs={tabs} />
    </section>
  )
}

/** The creative as the file has it. */
function Still({ turn: { media, placement } }: { turn: BundleTurn }) {
  const still = media.find(({ use }) => use === 'still')
  if (still === undefined) return null
  const { media_type, base64 } = still
  return (
    <Panel title="Creative" lead={placement.decision?.fill === true ? placement.decision.ad_label_text : ''}>
      <img className="still" src={`data:${media_type};base64,${base64}`} alt="The creative" />
    </Panel>
  )
}
