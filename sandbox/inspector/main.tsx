/** Starts the inspector in the document that the sandbox serves for each of its addresses. */
import { StrictMode } from 'react'
import { I18nProvider } from 'react-aria-components'
import { createRoot } from 'react-dom/client'
import { App } from './app/App.tsx'
import { applyTheme } from './app/theme.ts'
import './styles/inspector.css'

applyTheme()
const root = document.getElementById('root')
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      {/* The page is in English, whatever the browser is set to; some name a language that is none. */}
      <I18nProvider locale="en-GB">
        <App />
      </I18nProvider>
    </StrictMode>,
  )
}
