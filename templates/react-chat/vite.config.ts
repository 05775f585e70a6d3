import react from '@vitejs/plugin-react'
import { defineConfig, loadEnv, type Plugin } from 'vite'

/**
 * Two settings reach the page, each by name, because anyone can read what is built in here. SVC_SECRET_KEY, which
 * may be set in the same environment, must never be one of them.
 */
export default defineConfig(({ mode }) => {
  const { SVC_BASE_URL = '', SVC_PUBLISHABLE_KEY = '' } = loadEnv(mode, import.meta.dirname, 'SVC_')
  if (SVC_PUBLISHABLE_KEY !== '' && !SVC_PUBLISHABLE_KEY.startsWith('pk_')) {
    throw new Error('SVC_PUBLISHABLE_KEY is no publishable key (pk_...), and everybody would see it.')
  }
  if (SVC_BASE_URL === '' || SVC_PUBLISHABLE_KEY === '') {
    console.warn(
      'SVC_BASE_URL or SVC_PUBLISHABLE_KEY is not set: the chat will have no sponsored slots. See .env.example',
    )
  }
  const port = Number(process.env.PORT ?? 3000)
  return {
    plugins: [react(), contentSecurityPolicy(SVC_BASE_URL)],
    server: { port },
    preview: { port },
    define: {
      'import.meta.env.SVC_BASE_URL': JSON.stringify(SVC_BASE_URL.replace(/\/$/, '')),
      'import.meta.env.SVC_PUBLISHABLE_KEY': JSON.stringify(SVC_PUBLISHABLE_KEY),
    },
  }
})

/** What render.js and its frame need, and nothing else. In the built page; Vite's development server needs more. */
function contentSecurityPolicy(base_url: string): Plugin {
  const service = base_url === '' ? '' : ` ${new URL(base_url).origin}`
  const policy = [
    "default-src 'none'",
    `script-src 'self'${service}`,
    `connect-src 'self'${service}`,
    `frame-src${service || " 'none'"}`,
    "style-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
  ]
  const attrs = { 'http-equiv': 'Content-Security-Policy', content: policy.join('; ') }
  return {
    name: 'content-security-policy',
    apply: 'build',
    transformIndexHtml: () => [{ tag: 'meta', attrs, injectTo: 'head-prepend' }],
  }
}
