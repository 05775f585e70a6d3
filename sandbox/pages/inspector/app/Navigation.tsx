/**
 * The bar at the top, the list of views (beside the view on a desktop, above it on a phone), and the state of the
 * connection.
 */
import { useEffect, useRef } from 'react'
import { Button, ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { Link } from 'wouter'
import { useLiveStatus } from '../data/live.ts'
import { useResource } from '../data/resource.ts'
import { linkTo, useSession } from '../data/session.ts'
import { Icon } from '../parts/Icon.tsx'
import { useSandboxTime } from '../parts/values/Time.tsx'
import { dateAndTime } from '../parts/values/times.ts'
import { setTheme, themeNames, themes, useTheme } from './theme.ts'
import { views } from './views.ts'

interface NavigationProps {
  /** The id of the view that is shown. */
  current: string | null
  openPalette(): void
}

export function Navigation({ current, openPalette }: NavigationProps) {
  const list = useRef<HTMLElement>(null)
  // On a phone the views are a line that scrolls. After scrollIntoView, Tab would begin at the link and not at the top.
  useEffect(() => {
    const link = current === null ? null : list.current?.querySelector('.view-link[aria-current]')
    if (list.current === null || link == null) return
    const [line, shown] = [list.current.getBoundingClientRect(), link.getBoundingClientRect()]
    list.current.scrollLeft += shown.left + shown.width / 2 - (line.left + line.width / 2)
  }, [current])
  return (
    <>
      <header className="top bar spread paper ruled-below">
        <Link className="brand bar" href="/">
          <span className="logo">
            <Icon name="brand" />
          </span>
          svc<span className="faint">inspector</span>
        </Link>
        <Button className="palette-button bar" onPress={openPalette}>
          <Icon name="search" />
          <span className="faint clipped">Go to a view, a guide or an identifier</span>
          <kbd className="only-wide">Ctrl K</kbd>
        </Button>
        <div className="tools bar">
          <Clock />
          <LiveState />
          <ThemeSwitch />
        </div>
      </header>
      <nav className="views paper" aria-label="Views" ref={list}>
        <ul>
          {views.map(({ id, label, icon, href }) => (
            <li key={id}>
              <Link href={href} className="view-link bar label" aria-current={id === current ? 'page' : undefined}>
                <Icon name={icon} />
                {label}
              </Link>
            </li>
          ))}
          <li className="view-rest">
            <a className="view-link bar label soft" href={linkTo('/_sandbox/demo')}>
              <Icon name="product" />
              Demo host
            </a>
          </li>
          <li>
            <a className="view-link bar label soft" href="/_sandbox/docs/">
              <Icon name="page" />
              Documentation
            </a>
          </li>
        </ul>
        <Version />
      </nav>
    </>
  )
}

function Version() {
  const { version } = useSession()
  return <p className="faint tiny version only-wide">svc {version}</p>
}

/** Milliseconds off system time that still count as system time: `svc trigger expired` moves the clock by two. */
const negligibleOffsetMs = 1_000

/** The sandbox time, while it differs from system time. */
function Clock() {
  const { state } = useResource('clock.show', {}, ({ type }) => type === 'clock.changed')
  const now_ms = useSandboxTime(state.data)
  if (state.status !== 'ready' || now_ms === null) return null
  const { offset_ms, frozen } = state.data
  if (Math.abs(offset_ms) < negligibleOffsetMs && !frozen) return null
  return (
    <span className="chip bar" data-tone="warn" title="The sandbox clock differs from system time">
      <Icon name="clock" />
      {frozen ? `stopped at ${dateAndTime(now_ms)}` : `clock moved, ${dateAndTime(now_ms)}`}
    </span>
  )
}

const stateNames = { connecting: 'Connecting', live: 'Live', lost: 'Offline', recovered: 'Live' } as const

function LiveState() {
  const status = useLiveStatus()
  const tone = status === 'lost' ? 'bad' : status === 'connecting' ? 'plain' : 'good'
  return (
    <span className="live bar label soft" data-tone={tone} title="The event stream of the sandbox">
      <span className="only-wide">{stateNames[status]}</span>
    </span>
  )
}

function ThemeSwitch() {
  const { chosen } = useTheme()
  return (
    <ToggleButtonGroup
      className="segments bar"
      aria-label="Theme"
      selectionMode="single"
      disallowEmptySelection
      selectedKeys={[chosen]}
      onSelectionChange={(keys) => {
        const [key] = keys
        setTheme(themes.find((theme) => theme === key) ?? 'system')
      }}
    >
      {themes.map((theme) => (
        <ToggleButton key={theme} id={theme} className="segment soft" aria-label={themeNames[theme]}>
          <Icon name={theme} />
        </ToggleButton>
      ))}
    </ToggleButtonGroup>
  )
}

/** Reports that the connection to the sandbox is lost, and when it is back. */
export function ConnectionBanner() {
  const status = useLiveStatus()
  return (
    <div className="banner-place" aria-live="polite">
      {status === 'lost' && (
        <p className="banner bar" data-tone="bad">
          <Icon name="close" />
          <span>
            <b>Connection lost.</b> The sandbox does not respond; this page reconnects when it does.
          </span>
        </p>
      )}
      {status === 'recovered' && (
        <p className="banner bar" data-tone="good">
          <Icon name="check" />
          <span>
            <b>Connected again.</b> Everything on this page was reloaded.
          </span>
        </p>
      )}
    </div>
  )
}
