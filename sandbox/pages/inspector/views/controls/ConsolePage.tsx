/**
 * `/console`: the pages that ask to steer the sandbox from their console, and how to open a console. An address with
 * `?grant=ID`, which the console links to, shows one ask with its code. Nothing is confirmed but by its button.
 */
import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { Link, useSearchParams } from 'wouter'
import type { ConsoleGrant } from '#contract/resources/sandbox/console.ts'
import { call } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { type Action, Outcome, useAction } from '../../parts/Dialog.tsx'
import { Page } from '../../parts/Page.tsx'
import { KeyValues, Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { CopyButton } from '../../parts/values/CopyButton.tsx'
import { Time } from '../../parts/values/Time.tsx'

/** How often the grants are read again, milliseconds: no event is about them. */
const reloadMs = 2_000

export function ConsolePage() {
  const [params] = useSearchParams()
  const resource = useResource('console.list', {})
  const action = useAction(resource.reload)
  const { reload } = resource
  // biome-ignore lint/correctness/useExhaustiveDependencies: it reads the same endpoint whenever it is called
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), reloadMs)
    return () => clearInterval(timer)
  }, [])
  const asked = params.get('grant')
  return (
    <Page
      title="Console on a page"
      lead="What each ad is doing, on the page itself. To change anything here, a page needs your confirmation."
    >
      <Outcome action={action} />
      <div className="columns even">
        <Shown resource={resource}>
          {({ items }) => (
            <div className="column">
              {asked !== null && (
                <Ask grant={items.find(({ grant_id }) => grant_id === asked) ?? null} action={action} />
              )}
              <Grants items={items.filter(({ grant_id }) => grant_id !== asked)} action={action} />
            </div>
          )}
        </Shown>
        <WaysToOpen />
      </div>
    </Page>
  )
}

/** One ask, as the console on the page shows it too. */
function Ask({ grant, action }: { grant: ConsoleGrant | null; action: Action }) {
  const isAttended = useAttention()
  if (grant === null) {
    return (
      <Panel title="A page asks to steer this sandbox">
        <Empty icon="key" title="This ask has ended">
          It was refused, or nobody answered for 10 minutes. Ask again in the console on the page.
        </Empty>
      </Panel>
    )
  }
  const { grant_id, origin, code, status, expires_at_ms } = grant
  const params = { grant_id }
  return (
    <Panel
      title="A page asks to steer this sandbox"
      lead="Confirm only if the console on your page shows the same four digits now."
    >
      <p className="grant-code">{code}</p>
      <KeyValues
        pairs={[
          ['Page', <code key="origin">{origin}</code>],
          ['State', <GrantChip key="state" status={status} />],
          [status === 'waiting' ? 'Answer until' : 'Until', <Time key="end" at_ms={expires_at_ms} />],
        ]}
      />
      <p>For 60 minutes, scripts on every page of this origin may, in test mode:</p>
      <ul>
        <li>force a no-fill or a format, for all test traffic of this sandbox</li>
        <li>withdraw the consent of sessions with a slot of a project that allows the origin</li>
        <li>move the sandbox clock forward, past the end of such a slot</li>
        <li>slow down a frame, and send the request of such a slot again</li>
      </ul>
      <div className="bar">
        {status === 'waiting' && (
          <Button
            className="small primary"
            isDisabled={!isAttended || action.isRunning}
            onPress={() =>
              action.run(
                () => call('console.confirm', { params, body: {} }),
                `${origin} may steer this sandbox. Go back to your page.`,
              )
            }
          >
            Confirm
          </Button>
        )}
        <EndGrant grant={grant} action={action} />
      </div>
    </Panel>
  )
}

/** How long the tab must have been in front before it confirms anything, milliseconds. */
const attentionMs = 1_000

/**
 * Whether this tab has been in front for a moment: a page that opens it under a double click, or hides a window that
 * was in front of it, gets no confirmation by the click that follows.
 */
function useAttention(): boolean {
  const [isAttended, setAttended] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const restart = () => {
      clearTimeout(timer)
      setAttended(false)
      const isInFront = document.visibilityState === 'visible' && document.hasFocus()
      if (isInFront) timer = setTimeout(() => setAttended(true), attentionMs)
    }
    const events = ['focus', 'blur', 'visibilitychange'] as const
    for (const event of events) addEventListener(event, restart)
    restart()
    return () => {
      clearTimeout(timer)
      for (const event of events) removeEventListener(event, restart)
    }
  }, [])
  return isAttended
}

function Grants({ items, action }: { items: readonly ConsoleGrant[]; action: Action }) {
  return (
    <Panel title="Pages that ask or may steer" lead="A grant ends after 60 minutes, with a reset and with the sandbox.">
      {items.length === 0 ? (
        <Empty icon="key" title="No other page" />
      ) : (
        <ul className="cards">
          {items.map((grant) => (
            <li key={grant.grant_id} className="box card">
              <div className="grow">
                <div className="bar wrap-line">
                  <code>{grant.origin}</code>
                  <GrantChip status={grant.status} />
                </div>
                <p className="faint tiny">
                  code {grant.code}, until <Time at_ms={grant.expires_at_ms} />
                </p>
              </div>
              {grant.status === 'waiting' && (
                <Link className="small" href={`/console?grant=${grant.grant_id}`} aria-label={`Answer ${grant.origin}`}>
                  Answer
                </Link>
              )}
              <EndGrant grant={grant} action={action} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function GrantChip({ status }: Pick<ConsoleGrant, 'status'>) {
  return <Chip tone={({ waiting: 'warn', confirmed: 'good', refused: 'bad' } as const)[status]}>{status}</Chip>
}

/** Refuses an ask or revokes a grant. Nothing for one that has ended. */
function EndGrant({ grant: { grant_id, origin, status }, action }: { grant: ConsoleGrant; action: Action }) {
  if (status === 'refused') return null
  const [label, done] =
    status === 'waiting' ? ['Refuse', `${origin} is refused.`] : ['Revoke', `${origin} may no longer steer.`]
  return (
    <Button
      className="small"
      aria-label={`${label} ${origin}`}
      isDisabled={action.isRunning}
      onPress={() => action.run(() => call('console.revoke', { params: { grant_id } }), done)}
    >
      {label}
    </Button>
  )
}

/** Opens the console where render.js is loaded, and else loads the page again with the parameter that opens it. */
const bookmarklet =
  "javascript:(()=>{const s=window.SponsoredPlacement;if(s&&s.openConsole)s.openConsole();else{const u=new URL(location.href);u.searchParams.set('svc_console','1');location.assign(u)}})()"

function WaysToOpen() {
  return (
    <Panel
      title="Open the console on your page"
      lead="A page that loads render.js from this sandbox has four ways to open it."
    >
      <KeyValues
        pairs={[
          ['In the address', <code key="address">?svc_console=1</code>],
          ['With the keyboard', <kbd key="keys">Ctrl Alt Shift S</kbd>],
          ['From a script', <code key="script">SponsoredPlacement.openConsole()</code>],
          [
            'From the bookmarks',
            <span key="bookmark" className="bar">
              {/* React refuses an address that is a script: it is set on the element, where it is only dragged. */}
              <a className="small" href="#bookmark" ref={(link) => link?.setAttribute('href', bookmarklet)}>
                svc console
              </a>
              <CopyButton text={bookmarklet} label="Copy the bookmark" />
            </span>,
          ],
        ]}
      />
      <p className="soft">
        Drag “svc console” to your bookmarks, or copy it into a new one as its address. It runs on the page that you
        open it on, and not here.
      </p>
    </Panel>
  )
}
