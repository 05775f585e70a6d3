/** Rules about the page itself, for which a browser was there. */
import { loadedFrames } from '../frames.ts'
import type { Mount, PageSeen } from '../observe/page/seen.ts'
import type { Finding, Observed, Rule } from '../rule.ts'

/** A rule that is judged by the page; without one, or with nothing of it there, it is not judged. */
function pageRule(rule: Omit<Rule, 'judge'>, judge: (page: PageSeen, observed: Observed) => ReturnType<Rule['judge']>) {
  return {
    ...rule,
    judge: (observed: Observed) =>
      observed.page === null ? { looked_at: 0, findings: [] } : judge(observed.page, observed),
  } satisfies Rule
}

const frameNeeds = 'an ad in the page (--url)'

function seen(text: string): Finding {
  return { seen: text, requests: [] }
}

/** One finding for each mount of which it holds. */
function ofMounts({ mounts }: PageSeen, isWrong: (mount: Mount) => boolean, text: (mount: Mount) => string) {
  return { looked_at: mounts.length, findings: mounts.filter(isWrong).map((mount) => seen(text(mount))) }
}

/** Long enough in the window to have rendered. */
const settled_ms = 1_500

export const pageRules = {
  'secret-key-served': pageRule(
    {
      title: 'no file that is served holds a secret key',
      severity: 'error',
      costs: 'Everybody who opens the page can read the key, and spend and read in your name.',
      fix: 'Revoke that key, keep secret keys on the server, and build pages with a publishable key only.',
      needs: 'a page (--url)',
    },
    ({ files, keys }) => ({
      looked_at: files,
      findings: keys.map(({ file, line, key }) => seen(`${file}:${line} holds ${key}`)),
    }),
  ),
  'secret-key-sent': pageRule(
    {
      title: 'the page sends no secret key',
      severity: 'error',
      costs: 'Everybody who opens the page can read the key, wherever it is sent.',
      fix: 'Revoke that key. Let the page call a route of your own server, which adds the key.',
      needs: 'a page (--url)',
    },
    ({ files, key_requests }) => ({
      looked_at: files,
      findings: key_requests.map(({ method, url, where }) => seen(`${method} ${url} had it in its ${where}.`)),
    }),
  ),
  'label-hidden': pageRule(
    {
      title: 'every ad has a visible label',
      severity: 'error',
      costs: 'An ad that is not marked as one breaks the law in most markets, and the contract.',
      fix: 'Show render.label_text and the sponsor beside the frame; render.js draws them and no style may hide them.',
      needs: frameNeeds,
    },
    (page) =>
      ofMounts(
        page,
        ({ label, is_shown }) => is_shown && label === null,
        ({ slot_id }) => `Nothing visible beside the ad of ${slot_id} says that it is one.`,
      ),
  ),
  'frame-blocked': pageRule(
    {
      title: 'the page lets the ad in',
      severity: 'error',
      costs: 'The slot stays empty, and onload fires all the same.',
      fix: 'Add the base URL to script-src, frame-src and connect-src of the Content-Security-Policy, and the page to the allowed origins.',
      needs: 'render.js or an ad in the page (--url)',
    },
    ({ blocked, mounts }, { exchanges }) => {
      const loaded = loadedFrames(exchanges)
      const missing = blocked.length > 0 ? [] : mounts.filter(({ slot_id }) => !loaded.has(slot_id))
      return {
        looked_at: mounts.length + blocked.length,
        findings: [
          ...blocked.map(({ url, why }) => seen(`${url} was blocked: ${why}.`)),
          ...missing.map(({ slot_id }) =>
            seen(`The frame of ${slot_id} is in the page and never reached the service.`),
          ),
        ],
      }
    },
  ),
  'mounted-twice': pageRule(
    {
      title: 'no ad is mounted twice',
      severity: 'error',
      costs: 'The second is not paid, and looks like fraud to the buyer.',
      fix: 'Mount each placement in one slot; give startTurn a turnId, so that a remount is the same turn.',
      needs: frameNeeds,
    },
    ({ mounts }) => {
      const slots = [...Map.groupBy(mounts, ({ slot_id }) => slot_id)]
      return {
        looked_at: mounts.length,
        findings: slots
          .filter(([, group]) => group.length > 1)
          .map(([slot_id, group]) => seen(`The ad of ${slot_id} was mounted ${group.length} times.`)),
      }
    },
  ),
  'slot-hidden': pageRule(
    {
      title: 'every ad has room and can be seen',
      severity: 'error',
      costs: 'The ad renders and can never be viewable: it is not paid.',
      fix: 'Give the slot its declared size, and no display: none, visibility: hidden, opacity: 0 or overflow around it.',
      needs: frameNeeds,
    },
    (page) =>
      ofMounts(
        page,
        ({ is_shown, width, height }) => !is_shown || width < 10 || height < 10,
        ({ slot_id, is_shown, width, height }) =>
          `The ad of ${slot_id} is ${is_shown ? `${width} × ${height} pixels` : 'hidden by a style'}.`,
      ),
  ),
  'slot-blank': pageRule(
    {
      title: 'no slot stays blank',
      severity: 'error',
      costs: 'The person sees an empty box, and nothing is paid.',
      fix: 'See what blocked it: the console of the page, its CSP and COEP, and what lies over the frame.',
      needs: 'an ad that was in view (--url)',
    },
    (page) => {
      const viewed = page.mounts.filter(({ in_view_ms, colors }) => in_view_ms >= settled_ms && colors !== null)
      return ofMounts(
        { ...page, mounts: viewed },
        ({ colors }) => colors === 1,
        ({ slot_id, width, height }) => `The ad of ${slot_id}, ${width} × ${height}, is of one colour.`,
      )
    },
  ),
  'page-errors': pageRule(
    {
      title: 'ads cause no errors in the page',
      severity: 'warning',
      costs: 'Somebody will look for a bug in the page, or an ad was not shown.',
      fix: 'See the message. Codes of the renderer are explained in docs/renderer.md.',
      needs: 'a page (--url)',
    },
    ({ files, renderer_errors, console_errors }) => ({
      looked_at: files,
      findings: [
        ...[...new Set(renderer_errors)].map((code) => seen(`render.js told the error ${code}.`)),
        ...[...new Set(console_errors)].map((text) => seen(`The console told: ${text}`)),
      ],
    }),
  ),
  'layout-shift': pageRule(
    {
      title: 'the page does not jump when an ad comes',
      severity: 'warning',
      costs: 'People click what they did not mean; search engines rank the page lower.',
      fix: 'Reserve the room of the slot before the answer is there: min-height, or the size of slot_hint.',
      needs: frameNeeds,
    },
    ({ mounts, shift }) => ({
      looked_at: mounts.length,
      findings:
        shift > goodShift ? [seen(`Ads moved the page by ${shift.toFixed(2)}; up to ${goodShift} is good.`)] : [],
    }),
  ),
} as const satisfies Record<string, Rule>

/** What is called good of a whole page (Cumulative Layout Shift). */
const goodShift = 0.1

export type PageRuleName = keyof typeof pageRules
