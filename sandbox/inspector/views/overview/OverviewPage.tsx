/**
 * The first page: everything an integration needs to begin, to copy for each stack and language, and current activity.
 */
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { linkTo, type SeededProject, useSession } from '../../data/api.ts'
import { type SandboxEvent, useRecentEvents } from '../../data/live.ts'
import { type Resource, useResource } from '../../data/resource.ts'
import { LastMinute, type Rate } from '../../parts/Chart.tsx'
import { CodeTabs, type CodeVariant } from '../../parts/Code.tsx'
import { SelectField } from '../../parts/Fields.tsx'
import { TotalsPanel } from '../../parts/Figures.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Empty, KeyValues, Page, Panel, Shown } from '../../parts/Page.tsx'
import { Chip, CopyButton, dateAndTime, duration, Id, Time } from '../../parts/Values.tsx'

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
            title="First placement"
            lead="Run it in a terminal: the placement appears below and under Placements at once."
          >
            <CodeTabs label="First placement" variants={placementSnippets(base_url, project)} />
          </Panel>
          <LastEvents />
        </div>
        <div className="column">
          <Panel
            title="Keys"
            actions={
              <SelectField
                label="Project"
                value={project.client_id}
                options={projects.map(({ client_id }) => [client_id, client_id])}
                onChange={setClientId}
              />
            }
            lead="Seeded keys: they work only here and are not secret."
          >
            <Keys project={project} />
          </Panel>
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

function Keys({ project }: { project: SeededProject }) {
  const keys = [
    ['Project', project.client_id],
    ['Secret key', project.secret_key],
    ['Live secret key', project.live_secret_key],
    ['Publishable key', project.publishable_key],
  ] as const
  return (
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
  )
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
          ['Projects', info.projects.map(({ client_id }) => client_id).join(', ')],
        ]}
      />
    </Panel>
  )
}

const shownEvents = 12

function LastEvents() {
  const recent = useRecentEvents()
  const last = useMemo(() => recent.slice(-shownEvents).reverse(), [recent])
  return (
    <Panel
      title="Recent activity"
      actions={
        <Link className="link" href="/requests">
          All requests
        </Link>
      }
    >
      {last.length === 0 ? (
        <Empty icon="timeline" title="Nothing has happened yet">
          Request a placement, or open the demo host.
        </Empty>
      ) : (
        <ol className="event-list">
          {last.map((event) => (
            <li key={event.seq}>
              <EventRow event={event} />
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

/** One event of the sandbox on a line: when, what, how it ended, and a link to its page. */
function EventRow({ event }: { event: SandboxEvent }) {
  const { type, at_ms, slot_id, client_id, data } = event
  const text = (name: string) => (typeof data[name] === 'string' ? data[name] : null)
  const reason = text('reason_code') ?? text('no_fill_reason')
  return (
    <div className="event-row">
      <Time at_ms={at_ms} />
      <span className="bar said">
        <b>{describeEvent(event)}</b>
        <Chip>{readOutcome(event)}</Chip>
        {reason !== null && reason !== 'OK' && <Chip tone={type === 'beacon.rejected' ? 'bad' : 'warn'}>{reason}</Chip>}
        {data.would_bill === true && <Chip tone="money">{`bills ${text('metric') ?? ''}`}</Chip>}
        {data.format !== undefined && data.format !== null && <span className="soft">{String(data.format)}</span>}
      </span>
      {slot_id !== null ? <Id kind="placement" id={slot_id} /> : <Id kind="project" id={client_id} />}
    </div>
  )
}

const wordings: Readonly<Record<SandboxEvent['type'], string>> = {
  'job.created': 'Job created',
  'placement.decided': 'Decision',
  'frame.loaded': 'Frame loaded',
  'beacon.accepted': 'Beacon',
  'beacon.duplicate': 'Beacon',
  'beacon.rejected': 'Beacon',
  'callback.delivered': 'Callback delivered',
  'callback.retried': 'Callback retried',
  'callback.failed': 'Callback failed',
  'ticket.issued': 'Ticket issued',
  'socket.opened': 'Socket opened',
  'socket.sent': 'Socket sent',
  'socket.closed': 'Socket closed',
  'consent.changed': 'Consent changed',
  'browser.activated': 'Browser activated',
  'sandbox.reset': 'Sandbox reset',
  'sandbox.restored': 'Sandbox restored',
  'clock.changed': 'Clock changed',
  'events.dropped': 'Older events dropped',
}

function describeEvent({ type, data }: SandboxEvent): string {
  const name = wordings[type] ?? type
  return typeof data.event === 'string' && type.startsWith('beacon.') ? `${name} ${data.event}` : name
}

/** Returns the state that an event led to, in the words of the contract. */
function readOutcome({ type, data }: SandboxEvent): string | null {
  if (type === 'placement.decided') return data.fill === true ? 'fill' : 'no_fill'
  if (type.startsWith('beacon.')) return typeof data.verdict === 'string' ? data.verdict : null
  return typeof data.lifecycle_state === 'string' ? data.lifecycle_state : null
}

/** Returns the environment of a project for five stacks. */
function environmentSnippets(base_url: string, project: SeededProject): CodeVariant[] {
  const variables: readonly (readonly [name: string, value: string])[] = [
    ['SVC_BASE_URL', base_url],
    ['SVC_CLIENT_ID', project.client_id],
    ['SVC_SECRET_KEY', project.secret_key],
    ['SVC_PUBLISHABLE_KEY', project.publishable_key],
  ]
  const lines = (line: (name: string, value: string) => string) =>
    variables.map(([name, value]) => line(name, value)).join('\n')
  const port = new URL(base_url).port
  return [
    { id: 'shell', title: 'Shell', code: lines((name, value) => `export ${name}=${value}`) },
    {
      id: 'node',
      title: 'Node',
      code: `# .env, read by: node --env-file=.env server.js\n${lines((name, value) => `${name}=${value}`)}`,
    },
    {
      id: 'python',
      title: 'Python',
      code: `import os\n\n${lines((name, value) => `os.environ.setdefault("${name}", "${value}")`)}`,
    },
    { id: 'php', title: 'PHP', code: `<?php\n${lines((name, value) => `putenv('${name}=${value}');`)}` },
    {
      id: 'compose',
      title: 'Docker Compose',
      code: [
        `# On this computer: svc start --host 0.0.0.0 --allowed-host host.docker.internal`,
        'services:',
        '  app:',
        '    environment:',
        ...variables.map(([name, value], index) =>
          index === 0 ? `      ${name}: http://host.docker.internal:${port}` : `      ${name}: ${value}`,
        ),
        '    extra_hosts:',
        '      - host.docker.internal:host-gateway',
      ].join('\n'),
    },
  ]
}

/** Returns the first placement of a project in each language. */
function placementSnippets(base_url: string, { client_id, secret_key }: SeededProject): CodeVariant[] {
  const body = {
    client_id,
    session_id: 'first-session',
    job_type: 'chat',
    prompt: { topic: 'coffee' },
    overrides: { allowed_formats: ['banner'] },
  }
  const url = `${base_url}/v1/placements`
  const json = JSON.stringify(body, null, 2)
  const indented = (prefix: string) => json.replaceAll('\n', `\n${prefix}`)
  return [
    {
      id: 'curl',
      title: 'curl',
      code: `curl ${url} \\\n  -H 'Authorization: Bearer ${secret_key}' \\\n  -H 'Content-Type: application/json' \\\n  -d '${json}'`,
    },
    { id: 'cli', title: 'svc', code: 'svc placements create --format banner --topic coffee\nsvc render open' },
    {
      id: 'typescript',
      title: 'TypeScript',
      code: `const response = await fetch('${url}', {\n  method: 'POST',\n  headers: {\n    authorization: 'Bearer ${secret_key}',\n    'content-type': 'application/json',\n  },\n  body: JSON.stringify(${indented('  ')}),\n})\nconst placement = await response.json()\nconsole.log(placement.decision)`,
    },
    {
      id: 'python',
      title: 'Python',
      code: `import json, urllib.request\n\nrequest = urllib.request.Request(\n    "${url}",\n    data=json.dumps(${indented('    ')}).encode(),\n    headers={\n        "Authorization": "Bearer ${secret_key}",\n        "Content-Type": "application/json",\n    },\n)\nprint(json.load(urllib.request.urlopen(request))["decision"])`,
    },
    {
      id: 'php',
      title: 'PHP',
      code: `<?php\n$body = ${renderPhp(body, '')};\n$context = stream_context_create(['http' => [\n    'method' => 'POST',\n    'header' => "Authorization: Bearer ${secret_key}\\r\\nContent-Type: application/json",\n    'content' => json_encode($body),\n]]);\necho file_get_contents('${url}', false, $context);`,
    },
  ]
}

function renderPhp(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return `'${String(value)}'`
  const inner = `${indent}    `
  const entries = Object.entries(value).map(([name, part]) =>
    Array.isArray(value) ? `${inner}${renderPhp(part, inner)},` : `${inner}'${name}' => ${renderPhp(part, inner)},`,
  )
  return `[\n${entries.join('\n')}\n${indent}]`
}
