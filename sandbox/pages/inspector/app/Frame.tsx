import { Component, type ReactNode, useCallback, useState } from 'react'
import { Link, Route, Switch, useLocation } from 'wouter'
import { usePathname } from 'wouter/use-browser-location'
import { useRecovery } from '../data/live.ts'
import { toProblem } from '../data/resource.ts'
import { Page } from '../parts/Page.tsx'
import { Empty, Problem } from '../parts/Shown.tsx'
import { FindPage } from './FindPage.tsx'
import { ConnectionBanner, Navigation } from './Navigation.tsx'
import { Palette } from './Palette.tsx'
import { type Opened, Shortcuts, useKeys } from './Shortcuts.tsx'
import { LoadedView } from './view-page.tsx'
import { findView, views } from './views.ts'

/** The prefix of every address of the inspector. */
export const base = '/_sandbox'

export function Frame() {
  const [opened, setOpened] = useState<Opened>(null)
  const [location, navigate] = useLocation()
  const id = parseRouteId(usePathname())
  const close = useCallback(() => setOpened(null), [])
  useKeys(setOpened, navigate)
  const current = findView(location).view
  return (
    <div className="app">
      <a className="skip" href="#view">
        Skip to content
      </a>
      <Navigation current={current?.id ?? null} openPalette={() => setOpened('palette')} />
      <ConnectionBanner />
      <main id="view" tabIndex={-1}>
        <Boundary key={location}>
          <Switch>
            {views.flatMap((view) =>
              view.routes.map(({ path, page }) => (
                <Route key={path} path={path}>
                  <LoadedView page={page} id={path.includes(':') ? id : ''} />
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
