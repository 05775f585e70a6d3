/** The page itself, as a browser saw it, and the files served to it. */
import { plural } from '../../cli/output/text.ts'
import type { Blocked } from '../facts/in-page.ts'
import type { Mount, PageSeen } from '../facts/page.ts'
import { loadedFrames } from '../journal.ts'
import { type Finding, type Judgement, ruleSet } from '../rule.ts'

const inPage = 'a page (--url)'
const adInPage = 'an ad in the page (--url)'

/** Long enough in the window to have rendered. */
const rendered_ms = 1_500
/** An ad that is still not in view after being scrolled to for this long cannot be. */
const sought_enough_ms = 1_000
/** The highest Cumulative Layout Shift that is considered good. */
const goodShift = 0.1

export const servedRules = ruleSet('served', {
  'secret-key-served': {
    title: 'no served file contains a secret key',
    severity: 'error',
    costs: 'Anyone who opens the page can read the key and use your account.',
    fix: 'Revoke that key, keep secret keys on the server, and build pages with a publishable key only.',
    needs: inPage,
    judge: ({ place, files, keys, problem }) => ({
      looked_at: files,
      findings: [
        ...keys.map(({ file, line, key }) => ({ message: `${file}:${line} contains the secret key ${key}.` })),
        ...(problem === null ? [] : [{ ...unreadable, message: `${place}: ${problem}.` }]),
      ],
      holds: `No secret key in ${plural(files, 'file')} of ${place}.`,
    }),
  },
})

const unreadable = { severity: 'unknown', fix: 'Correct the path or address, and try again.' } as const

export const pageRules = ruleSet('page', {
  'secret-key-sent': {
    title: 'the page sends no secret key',
    severity: 'error',
    costs: 'Anyone who opens the page can read the key, no matter where it is sent.',
    fix: 'Revoke that key. Let the page call a route on your own server, which adds the key.',
    needs: inPage,
    judge: ({ page: { files, key_requests } }) => ({
      looked_at: files,
      findings: key_requests.map(({ method, url, where }) => ({ message: `${method} ${url} had it in its ${where}.` })),
    }),
  },
  'label-hidden': {
    title: 'every ad has a visible label',
    severity: 'error',
    costs: 'An ad that is not marked as one breaks the law in most markets, and the contract.',
    fix: 'Show render.label_text and the sponsor next to the frame. render.js draws them, and no style may hide them.',
    needs: adInPage,
    judge: ({ page }) =>
      judgeMounts(page.mounts, ({ slot_id, label, hidden_by }) =>
        hidden_by === null && label === null ? `Nothing visible next to the ad of ${slot_id} marks it as an ad.` : null,
      ),
  },
  'frame-blocked': {
    title: 'the page allows the ad',
    severity: 'error',
    costs: 'Nothing is paid: the slot stays empty, though its onload event fires, or its beacons are lost.',
    fix: 'Add the base URL to script-src, frame-src and connect-src of the Content-Security-Policy, and the page to the allowed origins.',
    needs: 'render.js or an ad in the page (--url)',
    judge({ page: { blocked, mounts }, observed }) {
      const loaded = loadedFrames(observed.exchanges)
      const missing = blocked.some(({ is_enforced }) => is_enforced)
        ? []
        : mounts.filter(({ slot_id }) => !loaded.has(slot_id))
      return {
        looked_at: mounts.length + blocked.length,
        findings: [
          ...blocked.filter((each) => !isRepeated(each, blocked)).map(blockFinding),
          ...missing.map(({ slot_id }) => ({
            message: `The frame of ${slot_id} is in the page, but its request never reached the service.`,
          })),
        ],
      }
    },
  },
  'mounted-twice': {
    title: 'no ad is mounted twice',
    severity: 'error',
    costs: 'The second is not paid, and looks like fraud to the buyer.',
    fix: 'Mount each placement in one slot; give startTurn a turnId, so that a remount is the same turn.',
    needs: adInPage,
    judge({ page: { mounts } }) {
      const slots = [...Map.groupBy(mounts, ({ slot_id }) => slot_id)].filter(([, group]) => group.length > 1)
      const findings = slots.map(([slot_id, { length }]) => ({
        message: `The ad of ${slot_id} was mounted ${length} times.`,
      }))
      return { looked_at: mounts.length, findings }
    },
  },
  'slot-hidden': {
    title: 'every ad has room and can be seen',
    severity: 'error',
    costs: 'The ad renders but can never be viewable: it is not paid.',
    fix: 'Give the slot its declared size, without display: none, visibility: hidden, opacity: 0 or clipping around it.',
    needs: adInPage,
    judge: ({ page }) =>
      judgeMounts(page.mounts, ({ slot_id, hidden_by, clipped_by, seen_share, sought_ms, width, height }) => {
        if (hidden_by !== null) return `The ad of ${slot_id} is hidden by ${hidden_by}.`
        if (width < 10 || height < 10) return `The ad of ${slot_id} is ${width} × ${height} pixels.`
        if (seen_share >= 0.5 || sought_ms < sought_enough_ms) return null
        const share = `At most ${Math.floor(seen_share * 100)} % of the ad of ${slot_id} could be scrolled into view`
        return clipped_by === null
          ? `${share}: it is placed outside the page, or a frame around it is too small.`
          : `${share}: it is cut off by ${clipped_by} around it.`
      }),
  },
  'slot-blank': {
    title: 'no slot stays blank',
    severity: 'error',
    costs: 'The user sees an empty box, and nothing is paid.',
    fix: 'Check the console of the page, its CSP and COEP, and whether something covers the frame.',
    needs: 'an ad that was in view (--url)',
    judge({ page: { mounts }, observed }) {
      // A frame that never reached the service has a rule of its own.
      const loaded = loadedFrames(observed.exchanges)
      const isSeen = ({ slot_id, hidden_by, in_view_ms }: Mount) =>
        loaded.has(slot_id) && hidden_by === null && in_view_ms >= rendered_ms
      const blank = judgeMounts(
        mounts.filter((mount) => isSeen(mount) && mount.colors !== null),
        ({ slot_id, width, height, colors }) =>
          colors === 1 ? `The ad of ${slot_id}, ${width} × ${height}, is a single colour.` : null,
      )
      const shared = new Set(mounts.flatMap(({ shared_id }) => shared_id ?? []))
      const empty = [...shared].map((id) => ({
        message: `Several slots have the id ${id}: one shows the ad, another stays empty.`,
        fix: 'Give each slot its own id, or pass the element as target: a selector finds only the first one.',
      }))
      return { looked_at: blank.looked_at + empty.length, findings: [...blank.findings, ...empty] }
    },
  },
  'page-errors': {
    title: 'ads cause no errors in the page',
    severity: 'warning',
    costs: 'An ad was not shown, or you search your page for a bug that it does not have.',
    fix: 'Read the message. svc docs CODE explains a code of the renderer.',
    needs: inPage,
    judge: ({ page, observed }) => ({
      looked_at: page.files,
      findings: [
        ...rendererErrors(page, observed.command_name),
        ...[...new Set(page.console_errors.filter((text) => !isRepetition(text, page)))].map((text) => ({
          message: `On the console: ${text}`,
          fix: consoleFix(text),
        })),
      ],
    }),
  },
  'layout-shift': {
    title: 'the page does not shift when an ad appears',
    severity: 'warning',
    costs: 'Users click the wrong thing, and search engines rank the page lower.',
    fix: 'Reserve the space of the slot before the response arrives: min-height, or the size of slot_hint.',
    needs: adInPage,
    judge({ page: { mounts, shift } }) {
      if (shift === null) return { looked_at: 0, findings: [] }
      const message = `Ads moved the page by ${shift.toFixed(2)}; up to ${goodShift} is good.`
      return { looked_at: mounts.length, findings: shift > goodShift ? [{ message }] : [] }
    },
  },
})

/** Returns the blocked address, and the directive or address to correct. */
function blockFinding({ url, why, is_enforced }: Blocked): Finding {
  const { origin } = new URL(url)
  const [, directive] = /^([a-z]+-src)(?:-elem)? of /.exec(why) ?? []
  const fix = why.startsWith('frame-ancestors')
    ? 'Add the origin of the page, and of each page around it, to the allowed origins of the project.'
    : directive === undefined
      ? undefined
      : `Add ${origin} to ${directive} of the Content-Security-Policy of the page.`
  if (!is_enforced) {
    const message = `${url} was loaded, and will be blocked once that policy is enforced: ${why}.`
    return { severity: 'warning', message, ...(fix === undefined ? {} : { fix }) }
  }
  if (/ERR_CONNECTION|ERR_NAME|ERR_ADDRESS/.test(why)) {
    const from = `Load it from the base URL of the service; nothing responds at ${origin}.`
    return { message: `${url} did not load: ${why}.`, fix: from }
  }
  return { message: `${url} was blocked: ${why}.`, ...(fix === undefined ? {} : { fix }) }
}

/** Whether another entry says more precisely why a frame was blocked. */
function isRepeated({ why }: Blocked, blocked: readonly Blocked[]): boolean {
  return why.endsWith('ERR_BLOCKED_BY_RESPONSE') && blocked.some((each) => each.why.startsWith('frame-ancestors'))
}

/** Whether a console message only repeats what was blocked, or the response to a request. */
function isRepetition(text: string, { blocked }: PageSeen): boolean {
  if (/^Failed to load resource: (the server responded|net::ERR_FAILED)/.test(text)) return true
  return blocked.length > 0 && /Content Security Policy|ERR_BLOCKED/.test(text)
}

/** Returns what to do about a console message. */
function consoleFix(text: string): string {
  const [, header] = /Request header field (\S+) is not allowed/.exec(text) ?? []
  if (header !== undefined) {
    return `A script of the page adds ${header} to every fetch, as monitoring tools do: exclude the base URL of the service.`
  }
  return text.includes('SponsoredPlacement')
    ? 'The page uses it before render.js has run: load it without async and defer, or wait for its load event.'
    : 'Read the message.'
}

/** What to do about errors of render.js that have one cause. */
const fixes: Readonly<Record<string, string>> = {
  response_unreadable:
    'Let your endpoint return the response of POST /v1/placements unchanged, with its names and levels. ',
  target_not_found:
    'Pass the element itself as target: a selector does not find elements in a shadow root, or elements that do not exist yet. ',
  consent_missing: 'Let your endpoint return authoritative_consent with the placement, and pass it on unchanged. ',
}

/** Matches the names of the fields of an error body (A10), as render.js lists what it got. */
const isServiceError = /^it has error, message, request_id\b/

/** Returns one finding for each different error or block of render.js; a request that failed names the route that refused it. */
function rendererErrors({ renderer_errors, refused_calls, blocked }: PageSeen, command_name: string): Finding[] {
  const isActivated = renderer_errors.every(({ code }) => code !== 'activation_failed')
  const isBlocked = blocked.some(({ is_enforced }) => is_enforced)
  // Without an activation a turn has no endpoint, and a blocked frame or beacon fails: that is not a second mistake.
  const reported = renderer_errors.filter(
    ({ type, code, detail }) =>
      (isActivated || code !== 'endpoint_missing') &&
      !(isBlocked && (code === 'render_timeout' || (type === 'beacon' && detail === 'network_error'))),
  )
  const findings = reported.map(({ type, code, detail }): Finding => {
    const isCall = code === 'request_failed' || code === 'activation_failed'
    const call = isCall ? refused_calls.find(({ status }) => detail === `http_${status}`) : undefined
    if (type === 'beacon') {
      return {
        message: `render.js could not send the beacon ${code}: ${detail}.`,
        fix: 'Find out what keeps it from reaching the service: a script that wraps fetch, a blocker, a policy of the page, no network.',
      }
    }
    if (type === 'cleared') {
      return {
        message: `The page removed the ad of ${detail}, before it was seen: ${code}.`,
        fix: 'Keep it in the page until it has been seen: finish() waits for that; clear, cancel and removing the slot do not.',
      }
    }
    if (type === 'cancelled') {
      return {
        message: 'The page cancelled its turn before an ad was shown.',
        fix: 'Cancel a turn only when its answer is not shown; when it is complete, call finish().',
      }
    }
    const what = type === 'blocked' ? `blocked the ad: ${code}` : `reported the error ${code}`
    const from = call === undefined ? '' : `, from ${call.method} ${call.url}`
    const fix =
      code === 'activation_failed' && (call !== undefined || detail?.includes('script element') === true)
        ? 'Load render.js from the service, by a script element without type="module": it activates with the server it was loaded from.'
        : call?.status === 404
          ? 'Your server has no such route: correct the endpoint of the turn, or add the route.'
          : detail !== null && isServiceError.test(detail)
            ? 'That is an error of the service, passed on as a placement: respond with its status, or show no ad. Its message and hint name the cause.'
            : `${fixes[code] ?? ''}Look it up: ${command_name} docs ${code}`
    return { message: `render.js ${what}${detail === null ? '' : ` (${detail}${from})`}.`, fix }
  })
  return [...new Map(findings.map((finding) => [finding.message, finding])).values()]
}

/** Returns one finding for each mount with a problem. */
function judgeMounts(mounts: readonly Mount[], problemOf: (mount: Mount) => string | null): Judgement {
  const problems = mounts.map(problemOf).filter((message) => message !== null)
  return { looked_at: mounts.length, findings: problems.map((message) => ({ message })) }
}
