/**
 * Starts the inspector in the document that the sandbox serves for each of its addresses, with the frame of every view:
 * navigation, the state of the connection, keys that work everywhere, and the view of the address.
 */
import './styles/inspector.css'
import { Component, type ReactNode, StrictMode, Suspense, useCallback, useEffect, useState } from 'react'
import { Button, Form, I18nProvider, Input, Label, TextField } from 'react-aria-components'
import { createRoot } from 'react-dom/client'
import { Link, Route, Router, Switch, useLocation } from 'wouter'
import { usePathname } from 'wouter/use-browser-location'
import { ConnectionBanner, Navigation } from './app/Navigation.tsx'
import { FindPage, Palette } from './app/Palette.tsx'
import { applyTheme } from './app/theme.ts'
import { type View, views } from './app/views.ts'
import { openSession, unlock, useSessionState } from './data/api.ts'
import { followEvents, useRecovery } from './data/live.ts'
import { toProblem } from './data/resource.ts'
import { isTyping } from './parts/DataTable.tsx'
import { TitledDialog } from './parts/Dialog.tsx'
import { Icon } from './parts/Icon.tsx'
import { Empty, Loading, Page, Problem } from './parts/Page.tsx'

/** The prefix of every address of the inspector. */
const base = '/_sandbox'

function App() {
  const session = useSessionState()
  useEffect(() => {
    void openSession()
  }, [])
  useEffect(() => {
    if (session === 'open') void followEvents()
  }, [session])
  if (session === 'opening') return <Loading label="Loading the inspector" />
  if (session === 'locked') return <LockedPage />
  if (session === 'unreachable') return <UnreachablePage />
  return (
    <Router base={base}>
      <Frame />
    </Router>
  )
}

type Opened = 'palette' | 'shortcuts' | null

function Frame() {
  const [opened, setOpened] = useState<Opened>(null)
  const [location, navigate] = useLocation()
  const id = parseRouteId(usePathname())
  const close = useCallback(() => setOpened(null), [])
  useKeys(setOpened, navigate)
  const current = views.find(({ href, routes }) => href === location || routes.some(({ path }) => isAt(path, location)))
  return (
    <div className="app">
      <a className="skip" href="#view">
        Skip to content
      </a>
      <Navigation current={current?.id ?? null} openPalette={() => setOpened('palette')} />
      <ConnectionBanner />
      <main id="view" tabIndex={-1}>
        <Boundary key={location}>
          <Suspense fallback={<Loading />}>
            <Switch>
              {views.flatMap((view) =>
                view.routes.map(({ path, page: ViewPage }) => (
                  <Route key={path} path={path}>
                    <ViewPage id={path.includes(':') ? id : ''} />
                  </Route>
                )),
              )}
              <Route path="/id/:id">
                <FindPage id={id} />
              </Route>
              <Route>
                <Page title="Not found">
                  <Empty title="Page not found">
                    <p>
                      Nothing is at <code>{base + location}</code>.
                    </p>
                    <p>
                      The command palette finds views and identifiers: <kbd>Ctrl</kbd> <kbd>K</kbd>
                    </p>
                    <p>
                      <Link className="link" href="/">
                        Overview
                      </Link>
                    </p>
                  </Empty>
                </Page>
              </Route>
            </Switch>
          </Suspense>
        </Boundary>
      </main>
      <Palette isOpen={opened === 'palette'} close={close} openShortcuts={() => setOpened('shortcuts')} />
      <Shortcuts isOpen={opened === 'shortcuts'} close={close} />
    </div>
  )
}

/** Returns the last part of an address such as /_sandbox/placements/slot_1; the router would decode it twice. */
function parseRouteId(pathname: string): string {
  const part = pathname.slice(base.length).split('/')[2] ?? ''
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Whether an address belongs to a route: `/placements/:id`. */
function isAt(path: string, location: string): boolean {
  const [own, parts] = [path.split('/'), location.split('/')]
  return own.length === parts.length && own.every((part, index) => part.startsWith(':') || part === parts[index])
}

/** How long `g` waits for the letter of a view, milliseconds. */
const sequenceMs = 1_200

function useKeys(open: (opened: Opened) => void, navigate: (route: string) => void): void {
  useEffect(() => {
    let afterG = -Infinity
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        open('palette')
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (document.querySelector('[role=dialog], [role=alertdialog]') !== null) return
      const view: View | undefined =
        event.timeStamp - afterG < sequenceMs ? views.find(({ shortcut }) => shortcut === event.key) : undefined
      afterG = event.key === 'g' ? event.timeStamp : -Infinity
      if (view !== undefined) navigate(view.href)
      else if (event.key === '?') open('shortcuts')
      else if (event.key === '/') {
        const search = document.querySelector<HTMLElement>('[data-search]')
        if (search === null) open('palette')
        else search.focus()
      } else return
      event.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [open, navigate])
}

/** Shows the error of a view; the navigation stays. */
class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null }
  static getDerivedStateFromError(error: unknown) {
    // Each browser words this error in its own way.
    const isScript = error instanceof TypeError && /dynamically imported|module script/.test(error.message)
    const message =
      'This view could not be loaded. Either the sandbox does not respond, or svc was updated while it was running: restart it.'
    return { error: isScript ? new Error(message) : error }
  }
  override render() {
    if (this.state.error === null) return this.props.children
    return (
      <Page title="This view failed">
        <Problem problem={toProblem(this.state.error)} retry={() => location.reload()} />
        <ReloadOnRecovery />
      </Page>
    )
  }
}

/**
 * A document does not request a script twice, even if it failed because the sandbox was down when a view was opened.
 */
function ReloadOnRecovery(): null {
  useRecovery(() => location.reload())
  return null
}

/** The keys that work everywhere. */
function Shortcuts({ isOpen, close }: { isOpen: boolean; close: () => void }) {
  const keys: readonly (readonly [keys: readonly string[], what: string])[] = [
    [['Ctrl', 'K'], 'Command palette'],
    [['/'], 'Search this list'],
    [['j'], 'Next row'],
    [['k'], 'Previous row'],
    [['Enter'], 'Open row'],
    [['?'], 'Show these shortcuts'],
    ...views.map(({ shortcut, label }) => [['g', shortcut], label] as const),
  ]
  return (
    <TitledDialog title="Keyboard shortcuts" isOpen={isOpen} onOpenChange={(open) => !open && close()}>
      <dl className="keys">
        {keys.map(([names, what]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd className="bar">
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </TitledDialog>
  )
}

/** Beyond loopback every client needs the admin token. The tab keeps it. */
function LockedPage() {
  const [token, setToken] = useState('')
  const [isWrong, setWrong] = useState(false)
  const submit = async () => {
    setWrong(false)
    if ((await unlock(token.trim())) === 'locked') setWrong(true)
  }
  return (
    <main className="locked">
      <Form
        validationBehavior="aria"
        className="locked-box paper"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <span className="logo">
          <Icon name="key" />
        </span>
        <h1>This sandbox needs its admin token</h1>
        <p className="soft">
          Other computers can reach it. <code>svc start</code> printed the token; <code>svc sandbox status</code> shows
          it again on the same computer. This tab keeps it until it is closed.
        </p>
        <TextField
          className="field text-field"
          type="password"
          value={token}
          onChange={setToken}
          isInvalid={isWrong}
          autoFocus
        >
          <Label>Admin token</Label>
          <Input className="field-box" autoComplete="off" spellCheck="false" placeholder="sbx_..." />
        </TextField>
        <p className="wrong" role="alert">
          {isWrong ? 'This is not the admin token of this sandbox.' : ''}
        </p>
        <Button type="submit" className="small primary" isDisabled={token.trim() === ''}>
          Open the inspector
        </Button>
      </Form>
    </main>
  )
}

const retryMs = 1_000

function UnreachablePage() {
  useEffect(() => {
    const timer = setInterval(() => void openSession(), retryMs)
    return () => clearInterval(timer)
  }, [])
  return (
    <main className="locked">
      <div className="locked-box paper" role="alert">
        <span className="logo">
          <Icon name="close" />
        </span>
        <h1>The sandbox does not respond</h1>
        <p className="soft">
          Start it: <code>svc start</code>. This page opens once it responds.
        </p>
      </div>
    </main>
  )
}

applyTheme()
const root = document.getElementById('root')
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      {/* The page is in English, whatever the browser is set to; some name an invalid language. */}
      <I18nProvider locale="en-GB">
        <App />
      </I18nProvider>
    </StrictMode>,
  )
}
