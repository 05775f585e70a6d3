/** What the frames of ads cost the browser: bytes of the network, processor time, and what the browser itself said of them. */
import type { BrowserContext, CDPSession, Frame, Page } from 'playwright-core'

export interface FrameLoad {
  slot_id: string
  /** Of everything that its frame loaded, compressed, with headers. */
  bytes: number
  /** Processor time in all, and most in any 30 s, milliseconds; null where the browser does not say. */
  cpu_ms: number | null
  peak_cpu_ms: number | null
}

interface MeasuredFrame extends FrameLoad {
  samples: { at_ms: number; cpu_ms: number }[]
  session: Promise<CDPSession | null> | undefined
}

const peakWindowMs = 30_000
const measureEveryMs = 1_000

/** Returns what measures the frames of ads of a browser from now on. `slotIn` finds the slot of the address of a frame, or null. */
export function openFrameLoads(context: BrowserContext, slotIn: (url: string) => string | null) {
  const frames = new Map<string, MeasuredFrame>()
  const interventions: string[] = []
  const find = (slot_id: string): MeasuredFrame => {
    const known = frames.get(slot_id)
    if (known !== undefined) return known
    const frame = { slot_id, bytes: 0, cpu_ms: null, peak_cpu_ms: null, samples: [], session: undefined }
    frames.set(slot_id, frame)
    return frame
  }
  context.on('requestfinished', async (request) => {
    try {
      const slot_id = slotIn(request.frame().url())
      if (slot_id === null) return
      const { responseBodySize, responseHeadersSize } = await request.sizes()
      find(slot_id).bytes += responseBodySize + responseHeadersSize
    } catch {
      // A request of a service worker has no frame, and one of a closed page no size.
    }
  })
  context.on('console', (message) => {
    if (/heavy ad|Ad was removed/i.test(message.text())) interventions.push(message.text())
  })

  /** Only Chromium says it, of a frame with a process of its own: others are asked once. */
  async function measureCpu(context: BrowserContext, frame: Frame, measured: MeasuredFrame): Promise<void> {
    measured.session ??= context
      .newCDPSession(frame)
      .then((session) => session.send('Performance.enable').then(() => session))
      .catch(() => null)
    const response = await (await measured.session)?.send('Performance.getMetrics').catch(() => undefined)
    const metric = response?.metrics.find(({ name }) => name === 'TaskDuration')
    if (metric === undefined) return
    const [cpu_ms, at_ms] = [1_000 * metric.value, performance.now()]
    measured.samples.push({ at_ms, cpu_ms })
    const before = measured.samples.find((sample) => at_ms - sample.at_ms <= peakWindowMs)!
    const spent_ms = cpu_ms - (measured.samples[0] === before ? 0 : before.cpu_ms)
    measured.cpu_ms = cpu_ms
    measured.peak_cpu_ms = Math.max(measured.peak_cpu_ms ?? 0, spent_ms)
  }
  let measured_at = 0
  return {
    interventions,
    /** Starts to read the processor time of the frames that are in a page now, once a second. */
    measure(page: Page): void {
      if (performance.now() - measured_at < measureEveryMs) return
      measured_at = performance.now()
      for (const frame of page.frames()) {
        const slot_id = slotIn(frame.url())
        if (slot_id !== null) void measureCpu(page.context(), frame, find(slot_id))
      }
    },
    list: (): FrameLoad[] =>
      [...frames.values()].map(({ slot_id, bytes, cpu_ms, peak_cpu_ms }) => ({ slot_id, bytes, cpu_ms, peak_cpu_ms })),
  }
}
