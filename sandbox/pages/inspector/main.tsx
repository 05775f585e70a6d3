/**
 * Starts the inspector in the document that the sandbox serves for each of its addresses, with the frame of every view:
 * navigation, the state of the connection, keys that work everywhere, and the view of the address.
 */
import './styles/inspector.css'
import { StrictMode, useEffect } from 'react'
import { I18nProvider } from 'react-aria-components'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { LockedPage, UnreachablePage } from './app/ClosedPages.tsx'
import { base, Frame } from './app/Frame.tsx'
import { applyTheme } from './app/theme.ts'
import { findView } from './app/views.ts'
import { followEvents } from './data/live.ts'
import { openSession, useSessionState } from './data/session.ts'
import { Loading } from './parts/Shown.tsx'

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

applyTheme()
// While the session is opened. The view reports a failure where it is shown.
findView(location.pathname.slice(base.length) || '/')
  .page?.load()
  .catch(() => {})
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
