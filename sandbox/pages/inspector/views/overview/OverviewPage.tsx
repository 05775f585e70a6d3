/**
 * The first page: everything an integration needs to begin, to copy for each stack and language, and current activity.
 */
import { useState } from 'react'
import { Link } from 'wouter'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { type Resource, useResource } from '../../data/resource.ts'
import { linkTo, type SeededProject, useSession } from '../../data/session.ts'
import { CodeTabs } from '../../parts/Code.tsx'
import { SelectField } from '../../parts/Fields.tsx'
import { TotalsPanel } from '../../parts/Figures.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { LastMinute, type Rate } from '../../parts/LastMinute.tsx'
import { Page } from '../../parts/Page.tsx'
import { KeyValues, Panel } from '../../parts/Panel.tsx'
import { Shown } from '../../parts/Shown.tsx'
import { CopyButton } from '../../parts/values/CopyButton.tsx'
import { dateAndTime, duration } from '../../parts/values/times.ts'
import { environmentSnippets } from './environment-snippets.ts'
import { LastEvents } from './LastEvents.tsx'
import { placementSnippets } from './placement-snippets.ts'

const rates: readonly Rate[] = [
  {
    name: 'Decisions',
    color: '--good',
    isCounted: ({ type }) => type === 'placement.decided',
    list: 'placements',
    filters: { decided: 'true' },
  },
  {
    name: 'Beacons',
    color: '--focus',
    isCounted: ({ type }) => type.startsWith('beacon.'),
    list: 'beacons',
    filters: {},
  },
  {
    name: 'Rejected',
    color: '--bad',
    isCounted: ({ type }) => type === 'beacon.rejected',
    list: 'beacons',
    filters: { verdict: 'rejected' },
  },
]

const changesInfo = new Set(['clock.changed', 'sandbox.reset', 'sandbox.restored'])

export function OverviewPage() {
  const { projects, base_url } = useSession()
  const [client_id, setClientId] = useState(projects[0]?.client_id ?? '')
  const project = projects.find((candidate) => candidate.client_id === client_id) ?? projects[0]
  const info = useResource('sandbox.info', {}, ({ type }) => changesInfo.has(type))
  if (project === undefined) return null
  return (
    <Page
      title="Overview"
      lead={
        <>
          The sandbox at <code>{base_url}</code>
        </>
      }
      actions={
        <>
          <CopyButton text={base_url} label="Copy the base URL">
            Base URL
          </CopyButton>
          <a className="small primary bar" href={linkTo('/_sandbox/demo')}>
            <Icon name="product" />
            Open the demo
          </a>
        </>
      }
    >
      <Warnings info={info} />
      <div className="columns">
        <div className="column">
          <LastMinute rates={rates} />
          <TotalsPanel
            actions={
              <Link className="link" href="/billing">
                Billing
              </Link>
            }
          />
          <Panel
            title="Create a placement"
            lead="Run it in a terminal: the placement appears below and under Placements at once."
          >
            <CodeTabs label="Create a placement" variants={placementSnippets(base_url, project)} />
          </Panel>
          <LastEvents />
        </div>
        <div className="column">
          <KeysPanel project={project} choose={setClientId} />
          <Panel title="Environment">
            <CodeTabs label="Environment" variants={environmentSnippets(base_url, project)} />
          </Panel>
          <Shown resource={info}>{(data) => <Facts info={data} />}</Shown>
        </div>
      </div>
    </Page>
  )
}

function Warnings({ info: { state } }: { info: Resource<SandboxInfo> }) {
  if (state.status !== 'ready' || state.data.warnings.length === 0) return null
  return (
    <ul className="warnings">
      {state.data.warnings.map((warning) => (
        <li key={warning} className="banner bar" data-tone="warn">
          {warning}
        </li>
      ))}
    </ul>
  )
}

function KeysPanel({ project, choose }: { project: SeededProject; choose(client_id: string): void }) {
  const { projects } = useSession()
  const keys = [
    ['Project', project.client_id],
    ['Secret key', project.secret_key],
    ['Live secret key', project.live_secret_key],
    ['Publishable key', project.publishable_key],
  ] as const
  return (
    <Panel
      title="Keys"
      actions={
        <SelectField
          label="Project"
          value={project.client_id}
          options={projects.map(({ client_id }) => [client_id, client_id])}
          onChange={choose}
        />
      }
      lead="Seeded keys: they work only here and are not secret."
    >
      <dl className="secrets">
        {keys.map(([name, value]) => (
          <div key={name}>
            <dt className="soft">{name}</dt>
            <dd className="bar spread">
              <code className="clipped">{value}</code>
              <CopyButton text={value} label={`Copy the ${name.toLowerCase()}`} />
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

function playbackPairs(playback: SandboxInfo['playback']): [string, string][] {
  if (playback === null) return []
  const { file, exchanges, played, not_recorded, fallback } = playback
  const others = `${not_recorded.toLocaleString('en')} not recorded, ${fallback ? 'answered here' : 'refused'}`
  return [
    ['Plays', file ?? 'a recording'],
    [
      'Played',
      `${played.toLocaleString('en')} of ${exchanges.toLocaleString('en')} recorded exchanges${not_recorded === 0 ? '' : `; ${others}`}`,
    ],
  ]
}

function Facts({ info }: { info: SandboxInfo }) {
  const { clock, journal, events } = info
  return (
    <Panel title="This sandbox">
      <KeyValues
        pairs={[
          ['Version', `${info.version}, process ${info.pid}`],
          ['Database', <code key="database">{info.database}</code>],
          ['Seed', info.seed === null ? 'none: identifiers are random' : String(info.seed)],
          [
            'Clock',
            `${dateAndTime(clock.now_ms)}${clock.frozen ? ', stopped' : ''}${
              clock.offset_ms === 0 ? ', system time' : `, ${duration(clock.offset_ms)} off system time`
            }`,
          ],
          [
            'Journal',
            journal.enabled
              ? `${journal.size.toLocaleString('en')} of ${journal.limit.toLocaleString('en')} requests`
              : 'off',
          ],
          ['Events', `${events.size.toLocaleString('en')} of ${events.limit.toLocaleString('en')}`],
          ...playbackPairs(info.playback),
          ['Projects', info.projects.map(({ client_id }) => client_id).join(', ')],
        ]}
      />
    </Panel>
  )
}
