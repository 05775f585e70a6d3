/** The page itself, as a browser saw it, and the files served to it. */
import { isTooSmall } from '#contract/viewability.ts'
import { describeChangedFrame, describeOtherRenderer, fixOfAddress, isFrameAddress } from '#contract/words/addresses.ts'
import { describeBilling } from '#contract/words/billing.ts'
import { isAdRequest, loadedFrames, readFrameUrls, readNoFillReason } from '#diagnosis/exchange.ts'
import type { SourceLocation } from '#foundation/finding.ts'
import { plural } from '#text/text.ts'
import type { Blocked } from '../facts/in-page.ts'
import type { Mount } from '../facts/mounts.ts'
import type { PageSeen } from '../facts/page.ts'
import { isAnySeen, isNamedByPage } from '../facts/shown-ads.ts'
import { declaredSizes, formatSize } from '../facts/sizes.ts'
import { type Facts, type Judgement, type Observed, type RuleFinding, ruleSet } from '../rule.ts'
import { fixOfNamedTurn, slotsOfTurns } from './fills.ts'
import { consoleFix, rendererErrors } from './renderer-errors.ts'

const inPage = 'a page (--url)'
const adInPage = 'an ad in the page (--url)'

/** Long enough in the window to have rendered. */
const renderedMs = 1_500
/** An ad that is still not in view after being scrolled to for this long cannot be. */
const soughtEnoughMs = 1_000
/** The highest Cumulative Layout Shift that is considered good. */
const goodShift = 0.1

/** Rules about files that a browser gets: those of the page that was watched, and of each --serve-dir. */
export const servedRules = ruleSet('served', {
  'secret-key-served': {
    title: 'no served file contains a secret key',
    severity: 'error',
    costs: 'Anyone who opens the page can read the key and use your account.',
    fix: 'Revoke that key, keep secret keys on the server, and build pages with a publishable key only.',
    needs: 'a page (--url) or its files (--serve-dir)',
    judge: ({ place, files, keys, problem }) => ({
      sample_size: files,
      findings: [
        ...keys.map(({ file, line, key, source }) =>
          withSource(`${file}:${line} contains the secret key ${key}.`, source),
        ),
        ...(problem === null ? [] : [{ ...unreadable, message: `${place}: ${problem}.` }]),
      ],
    }),
  },
  /** A browser that got render.js does not show what happens without it. */
  'stub-missing': {
    title: 'the page works without render.js',
    severity: 'warning',
    costs: 'With a blocker or a slow network the turn ends with an error, and the user gets no answer.',
    fix: 'Put the stub before the script element, as svc docs browser shows: your work then runs, and the ad is left out.',
    needs: 'files that use SponsoredPlacement (--serve-dir)',
    judge: ({ renderer_uses: uses, has_stub }) => ({
      sample_size: uses.length,
      findings: has_stub
        ? []
        : uses.slice(0, 1).map(({ file, line }) => ({
            message: `${file}:${line} uses SponsoredPlacement as if render.js were always there: a blocker or a slow network ends the turn.`,
          })),
    }),
  },
})

/** Notes a run in which nothing could be shown, since nothing was filled. */
function noteUnfilled({ exchanges, placements }: Observed): string[] {
  const requests = exchanges.filter(isAdRequest)
  if (requests.length === 0 || placements.some(({ fill }) => fill === true)) return []
  const reasons = [...new Set(requests.flatMap((request) => readNoFillReason(request) ?? []))].join(', ')
  const because = reasons === '' ? '' : ` (${reasons})`
  return [`${plural(requests.length, 'placement')} requested, none filled${because}: the page had no ad to show.`]
}

/** Says where a key stands in the project, if it was found there. */
function withSource(message: string, source: SourceLocation | undefined): RuleFinding {
  if (source === undefined) return { message }
  return { message: `${message} It stands in ${source.file}:${source.line}.`, place: { ...source, path: null } }
}

const unreadable = { severity: 'unknown', fix: 'Correct the path or address, and try again.' } as const

export const pageRules = ruleSet('page', {
  'step-failed': {
    title: 'every step of --steps can be done',
    severity: 'error',
    costs: 'The page was not used as a user would: what comes after the step was not judged.',
    fix: 'Correct the step, or the page.',
    needs: 'a file of steps (--steps)',
    judge: ({ page: { is_driven, failed_step } }) => ({
      sample_size: is_driven ? 1 : 0,
      findings:
        failed_step === null
          ? []
          : [{ message: failed_step.message, fix: failed_step.hint, place: { ...failed_step.place, path: null } }],
    }),
  },
  'secret-key-sent': {
    title: 'the page sends no secret key',
    severity: 'error',
    costs: 'Anyone who opens the page can read the key, no matter where it is sent.',
    fix: 'Revoke that key. Let the page call a route on your own server, which adds the key.',
    needs: inPage,
    judge: ({ page: { files, key_requests } }) => ({
      sample_size: files,
      findings: key_requests.map(({ method, url, where, key }) =>
        withSource(`${method} ${url} had it in its ${where}.`, key.source),
      ),
    }),
  },
  'label-hidden': {
    title: 'every ad has a visible label',
    severity: 'error',
    costs: 'An ad that is not marked as one breaks the law in most markets, and the contract.',
    fix: 'Show render.label_text and the sponsor next to the frame. render.js draws them, and no style may hide them.',
    needs: adInPage,
    judge: (facts) =>
      judgeMounts(facts, ({ slot_id, label, hidden_by }) =>
        hidden_by === null && label === null ? `Nothing visible next to the ad of ${slot_id} marks it as an ad.` : null,
      ),
  },
  'frame-blocked': {
    title: 'the page allows the ad',
    severity: 'error',
    costs: 'The slot stays empty, though its onload event fires, or its beacons are lost.',
    fix: 'Add the base URL to script-src, frame-src and connect-src of the Content-Security-Policy, and the page to the allowed origins.',
    needs: 'render.js or an ad in the page (--url)',
    judge({ page, observed }) {
      const { blocked, mounts } = page
      const loaded = loadedFrames(observed.exchanges)
      const missing = blocked.some(({ is_enforced }) => is_enforced)
        ? []
        : mounts.filter(({ slot_id }) => !loaded.has(slot_id))
      return {
        sample_size: mounts.length + blocked.length + page.other_frames.length,
        findings: [
          ...blocked.filter((each) => !isRepeated(each, blocked)).map(blockFinding),
          ...missing.map(({ slot_id }) => ({
            message: `The frame of ${slot_id} is in the page, but its request never reached the service.`,
          })),
          ...findChangedFrames(page, observed).map(({ slot_id, url, frame_url }) =>
            describeChangedFrame(slot_id, url, frame_url),
          ),
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
    judge({ page: { mounts }, observed }) {
      // One after the other is a remount: the requests show whether it counted again.
      const slots = new Map(mounts.filter(({ copies }) => copies > 1).map((mount) => [mount.slot_id, mount]))
      const named = slotsOfTurns(observed.exchanges, isNamedByPage)
      const findings = [...slots.values()].map(({ slot_id, copies }) => ({
        message: `The ad of ${slot_id} was in the page ${copies} times at once.`,
        ...(named.has(slot_id) && { fix: fixOfNamedTurn }),
      }))
      return { sample_size: mounts.length, findings }
    },
  },
  'slot-hidden': {
    title: 'every ad has room and can be seen',
    severity: 'error',
    costs: 'Nobody can see the ad.',
    fix: 'Give the slot its declared size, without display: none, visibility: hidden, opacity: 0 or clipping around it.',
    needs: adInPage,
    judge(facts) {
      const declared = declaredSizes(facts.observed.exchanges)
      return judgeMounts(facts, (mount) => {
        const { slot_id, hidden_by, clipped_by, seen_share, sought_ms, width, height } = mount
        if (hidden_by !== null) return `The ad of ${slot_id} is hidden by ${hidden_by}.`
        if (width < 10 || height < 10) return `The ad of ${slot_id} is ${formatSize(mount)} pixels.`
        const whole = declared.get(slot_id)
        if (whole !== undefined && isTooSmall(mount, whole))
          return `The ad of ${slot_id} is ${formatSize(mount)} pixels of ${formatSize(whole)}, too small to count as seen.`
        if (seen_share >= 0.5 || sought_ms < soughtEnoughMs) return null
        const share = `At most ${Math.floor(seen_share * 100)} % of the ad of ${slot_id} could be scrolled into view`
        return clipped_by === null
          ? `${share}: it is placed outside the page, or a frame around it is too small.`
          : `${share}: it is cut off by ${clipped_by} around it.`
      })
    },
  },
  'slot-blank': {
    title: 'no slot stays blank',
    severity: 'error',
    costs: 'The user sees an empty box.',
    fix: 'Check the console of the page, its CSP and COEP, and whether something covers the frame.',
    needs: 'an ad that was in view (--url)',
    judge({ page: { mounts }, observed }) {
      // A frame that never reached the service, or that render.js did not mount, has its own rule.
      const loaded = loadedFrames(observed.exchanges)
      const isSeen = ({ slot_id, hidden_by, in_view_ms }: Mount) =>
        loaded.has(slot_id) && hidden_by === null && in_view_ms >= renderedMs
      const looked = mounts.filter((mount) => isSeen(mount) && mount.colors !== null)
      const blank = looked
        .filter(({ colors }) => colors === 1)
        .map(({ slot_id, width, height, is_drawn, covered_by }) => ({
          message: withBill(
            covered_by === null
              ? `The ad of ${slot_id}, ${width} × ${height}, is a single colour.`
              : `The ad of ${slot_id}, ${width} × ${height}, is covered: ${covered_by} lies over it, and shows a single colour.`,
            slot_id,
            observed,
          ),
          ...(covered_by !== null && { fix: `Show the ad where nothing lies over it, or once ${covered_by} is gone.` }),
          ...(!is_drawn && { fix: 'Mount it with render.js: a frame that nothing initialises shows nothing.' }),
        }))
      const shared = new Set(mounts.flatMap(({ shared_id }) => shared_id ?? []))
      const empty = [...shared].map((id) => ({
        message: `Several slots have the id ${id}: one shows the ad, another stays empty.`,
        fix: 'Give each slot its own id, or pass the element as target: a selector finds only the first one.',
      }))
      return { sample_size: looked.length + empty.length, findings: [...blank, ...empty] }
    },
  },
  'page-errors': {
    title: 'ads cause no errors in the page',
    severity: 'warning',
    costs: 'An ad was not shown, or you search your page for a bug that it does not have.',
    fix: 'Read the message. svc docs CODE explains a code of the renderer.',
    needs: inPage,
    judge: ({ page, observed }) => ({
      sample_size: page.files,
      findings: [
        ...rendererErrors(withoutChanged(page, observed), observed.command_name, isAnySeen(observed)),
        ...[...new Set(page.console_errors.filter((text) => !isRepetition(text, page)))].map((text) => ({
          message: `On the console: ${text}`,
          fix: consoleFix(text, page),
        })),
      ],
      notes: page.mounts.length > 0 ? [] : noteUnfilled(observed),
    }),
  },
  'layout-shift': {
    title: 'the page does not shift when an ad appears',
    severity: 'warning',
    costs: 'Users click the wrong thing, and search engines rank the page lower.',
    fix: 'Reserve the space of the slot before the response arrives: min-height, or the size of slot_hint.',
    needs: adInPage,
    judge({ page: { mounts, shift } }) {
      if (shift === null) return { sample_size: 0, findings: [] }
      const message = `Ads moved the page by ${shift.toFixed(2)}; up to ${goodShift} is good.`
      return { sample_size: mounts.length, findings: shift > goodShift ? [{ message }] : [] }
    },
  },
  'renderer-elsewhere': {
    title: 'render.js comes from the service that is judged',
    severity: 'error',
    costs: 'The page works only while that other server runs: where it does not, in CI, no ad is shown.',
    fix: 'Make its address of SVC_BASE_URL, which the app gets from svc observe.',
    needs: 'render.js in the page (--url)',
    judge({ page: { other_renderers }, observed: { exchanges } }) {
      // What a proxy in front of the service was asked for, the service was asked for too.
      const asked = exchanges.filter(({ path }) => path.startsWith('/v1/render.js')).length
      const others = asked > 0 ? [] : [...new Set(other_renderers)]
      const [service_url] = readFrameUrls(exchanges).values()
      return {
        sample_size: asked + others.length,
        findings: others.map((url) => ({
          message: `The page loads ${url}, and the service that is judged was never asked for render.js.`,
          fix: fixOfAddress(url),
          ...(service_url !== undefined && describeOtherRenderer(url, service_url)),
        })),
      }
    },
  },
})

/** Returns the frames that were loaded from elsewhere, and never from the service, each with the frame_url of its response. */
function findChangedFrames({ other_frames }: PageSeen, { exchanges }: Observed) {
  const loaded = loadedFrames(exchanges)
  const given = readFrameUrls(exchanges)
  const lost = new Map(other_frames.map((frame) => [frame.slot_id, frame]))
  return [...lost.values()].flatMap(({ slot_id, url }) => {
    const frame_url = given.get(slot_id)
    // A proxy in front of the service loads the frame, and a service may be known by another name.
    if (frame_url === undefined || loaded.has(slot_id) || isFrameAddress(url, frame_url)) return []
    return [{ slot_id, url, frame_url }]
  })
}

/** Returns the blocked address, and the directive or address to correct. */
function blockFinding({ url, why, is_enforced }: Blocked): RuleFinding {
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
    return { message: `${url} did not load: ${why}. Nothing responds at ${origin}.`, fix: fixOfAddress(url) }
  }
  return { message: `${url} was blocked: ${why}.`, ...(fix === undefined ? {} : { fix }) }
}

/** Whether another entry says more precisely why a frame was blocked. */
function isRepeated({ why }: Blocked, blocked: readonly Blocked[]): boolean {
  return why.endsWith('ERR_BLOCKED_BY_RESPONSE') && blocked.some((each) => each.why.startsWith('frame-ancestors'))
}

/** Leaves out that frames did not render whose address was changed: `frame-blocked` has them. */
function withoutChanged(page: PageSeen, observed: Observed): PageSeen {
  const changed = new Set(findChangedFrames(page, observed).map(({ slot_id }) => slot_id))
  const isChanged = ({ code, reported }: PageSeen['renderer_errors'][number]) =>
    code === 'render_timeout' && changed.has(reported?.slot_id ?? '')
  return { ...page, renderer_errors: page.renderer_errors.filter((error) => !isChanged(error)) }
}

/** Whether a console message only repeats what was blocked, or the response to a request. */
function isRepetition(text: string, { blocked, renderer_errors }: PageSeen): boolean {
  if (/^Failed to load resource: (the server responded|net::ERR_FAILED)/.test(text)) return true
  // render.js logs each of its errors too.
  if (text.includes('[sponsored placement]')) return true
  if (renderer_errors.some(({ code }) => code === 'origin_opaque') && /origin 'null'/.test(text)) return true
  const isBlocked = blocked.length > 0 || renderer_errors.some(({ code }) => code === 'csp_blocked')
  return isBlocked && /Content Security Policy|ERR_BLOCKED/.test(text)
}

/** Returns one finding for each mount with a problem. */
function judgeMounts({ page, observed }: Facts['page'], findProblem: (mount: Mount) => string | null): Judgement {
  const findings = page.mounts.flatMap((mount) => {
    const problem = findProblem(mount)
    return problem === null ? [] : { message: withBill(problem, mount.slot_id, observed) }
  })
  return { sample_size: page.mounts.length, findings }
}

/** Adds what the service itself says of a placement: what a page shows and what is paid for can differ. */
function withBill(problem: string, slot_id: string, { bills }: Observed): string {
  const bill = bills?.get(slot_id)
  return bill === undefined ? problem : `${problem} The service ${describeBilling(bill).text}`
}
