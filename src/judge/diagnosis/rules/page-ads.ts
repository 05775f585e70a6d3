/** Ads that people can bear: what an ad does to the page and the computer around it, as a browser saw it. */
import { sizeText } from '#text/text.ts'
import { isAnySeen } from '../facts/shown-ads.ts'
import { ruleSet } from '../rule.ts'

const adInPage = 'an ad in the page (--url)'

/** Better Ads Standards, mobile web: "ad density higher than 30%". */
const maxDensity = 0.3
/** The widest window of a phone, CSS pixels. */
const maxPhoneWidth = 480
/** Chrome's heavy ad intervention. */
const maxBytes = 4_000_000
const maxPeakCpuMs = 15_000
const maxCpuMs = 60_000
/** The longest wait that leaves a person's train of thought alone (Nielsen, Usability Engineering, 1993). */
const maxLateMs = 1_000

/** After this many a slot that showed no ad long enough does not by accident. */
const minDrops = 3

export const pageAdRules = ruleSet('page', {
  'slot-emptied': {
    title: 'a slot keeps its ad when the page is drawn again',
    severity: 'warning',
    costs: 'The ad is mounted again and its view starts again each time; after ten times it stays away.',
    fix: 'Mark the slot for your framework, so that it leaves alone what is in there: React a div without children, Vue v-once, morphdom onBeforeElUpdated, Turbo data-turbo-permanent, htmx hx-preserve, LiveView phx-update="ignore". The renderer page lists more: svc docs renderer.',
    needs: adInPage,
    judge({ page: { mounts, around_ads, is_driven, is_headed }, observed }) {
      // Nobody else than the page took it out, and it never came to a view.
      const isLoss = !is_driven && !is_headed && !isAnySeen(observed)
      const slots = Map.groupBy(
        around_ads.flatMap(({ dropped }) => dropped),
        ({ slot }) => slot,
      )
      const findings = [...slots].map(([slot, dropped]) => {
        const times = dropped.length === 1 ? 'once' : `${dropped.length} times`
        const message = `The page took the ad of ${dropped[0]!.slot_id} out of ${slot} ${times}, and kept the slot.`
        return isLoss && dropped.length >= minDrops
          ? { message: `${message} It was never seen.`, severity: 'error' as const }
          : { message }
      })
      return { sample_size: mounts.length, findings }
    },
  },
  'ad-density': {
    title: 'ads fill at most 30 % of what a phone scrolls through',
    severity: 'warning',
    costs: 'People leave, and browsers that follow the Better Ads Standards remove the ads of the site.',
    fix: 'Show fewer ads, or lower ones: set slot_hint.max_height, or take the native templates list_item and minimal.',
    needs: 'an ad in a window as narrow as a phone (--url, --phone)',
    judge({ page: { around_ads } }) {
      const seen = around_ads.flatMap(({ density }) =>
        density !== null && density.window_width <= maxPhoneWidth ? [density] : [],
      )
      const findings = seen
        .filter(({ ads_height, content_height }) => ads_height > maxDensity * content_height)
        .map(({ ads_height, content_height }) => ({
          message: `Ads are ${ads_height} of ${content_height} pixels, ${Math.round((ads_height / content_height) * 100)} %; up to 30 % is good.`,
        }))
      return { sample_size: seen.length, findings }
    },
  },
  'heavy-ad': {
    title: 'no ad is heavier than browsers allow',
    severity: 'error',
    costs: 'Chrome unloads such an ad and shows a grey box. It takes data and battery that users pay for.',
    fix: 'Report the creative to the service: at most 4 MB of network, 15 s of processor in any 30 s, and 60 s in all.',
    needs: adInPage,
    judge({ page: { frame_loads, interventions } }) {
      const findings = frame_loads.flatMap(({ slot_id, bytes, cpu_ms, peak_cpu_ms }) => [
        ...(bytes > maxBytes ? [{ message: `The ad of ${slot_id} loaded ${sizeText(bytes)}; 4 MB are allowed.` }] : []),
        ...((peak_cpu_ms ?? 0) > maxPeakCpuMs || (cpu_ms ?? 0) > maxCpuMs
          ? [
              {
                message: `The ad of ${slot_id} used ${seconds(cpu_ms)} of processor, ${seconds(peak_cpu_ms)} in 30 s; 60 s and 15 s are allowed.`,
              },
            ]
          : []),
      ])
      const said = interventions.map((text) => ({ message: `The browser: ${text}` }))
      return { sample_size: frame_loads.length, findings: [...findings, ...said] }
    },
  },
  'message-pushed-away': {
    title: 'the last message stays in view when an ad appears',
    severity: 'warning',
    costs: 'The user looks for the answer, in the middle of reading it.',
    fix: 'Reserve the height of the slot, put it below the message, or scroll to the end after rendered where the user was at the end.',
    needs: adInPage,
    judge({ page: { around_ads } }) {
      const shown = around_ads.flatMap(({ beside }) => beside)
      const findings = shown
        .filter(({ was_in_view, is_in_view }) => was_in_view && !is_in_view)
        .map(({ slot_id, message }) => ({
          message: `The ad of ${slot_id} pushed the last message out of view: "${message}".`,
        }))
      return { sample_size: shown.length, findings }
    },
  },
  'ad-late': {
    title: 'an ad is painted before or right after the end of the answer',
    severity: 'warning',
    costs: 'It appears while the user reads, or is already gone: few such ads are seen.',
    fix: 'Request the placement when the answer begins, not when it ends; without keepMounted a late ad is left out.',
    needs: adInPage,
    judge({ page: { mounts, around_ads } }) {
      const findings = around_ads
        .flatMap(({ late }) => late)
        .filter(({ after_ms }) => after_ms > maxLateMs)
        .map(({ slot_id, after_ms }) => ({
          message: `The ad of ${slot_id} was painted ${seconds(after_ms)} after its turn had finished; up to 1 s is good.`,
        }))
      return { sample_size: mounts.length, findings }
    },
  },
})

function seconds(ms: number | null): string {
  return `${((ms ?? 0) / 1_000).toFixed(1)} s`
}
