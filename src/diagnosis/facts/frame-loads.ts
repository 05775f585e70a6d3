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
  session: CDPSession | null
}

const peakWindowMs = 30_000

/** Returns what measures the frames of ads of a browser from now on. `slotIn` finds the slot of the address of a frame, or null. */
export function openFrameLoads(context: BrowserContext, slotIn: (url: string) => string | null) {
  const frames = new Map<string, MeasuredFrame>()
  const interventions: string[] = []
  const find = (slot_id: string): MeasuredFrame => {
    const known = frames.get(slot_id)
    if (known !== undefined) return known
    const frame = { slot_id, bytes: 0, cpu_ms: null, peak_cpu_ms: null, samples: [], session: null }
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

  /** Only Chromium says it, of a frame with a process of its own. */
  async function measureCpu(context: BrowserContext, frame: Frame, measured: MeasuredFrame): Promise<void> {
    measured.session ??= await context.newCDPSession(frame)
    await measured.session.send('Performance.enable')
    const { metrics } = await measured.session.send('Performance.getMetrics')
    const cpu_ms = 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
    const at_ms = performance.now()
    measured.samples.push({ at_ms, cpu_ms })
    measured.cpu_ms = cpu_ms
    const before = measured.samples.find((sample) => at_ms - sample.at_ms <= peakWindowMs)!
    measured.peak_cpu_ms = Math.max(
      measured.peak_cpu_ms ?? 0,
      cpu_ms - (measured.samples[0] === before ? 0 : before.cpu_ms),
    )
  }
  return {
    interventions,
    /** Reads the processor time of the frames that are in a page now. */
    async measure(page: Page): Promise<void> {
      for (const frame of page.frames()) {
        const slot_id = slotIn(frame.url())
        if (slot_id !== null) await measureCpu(page.context(), frame, find(slot_id)).catch(() => {})
      }
    },
    list: (): FrameLoad[] =>
      [...frames.values()].map(({ slot_id, bytes, cpu_ms, peak_cpu_ms }) => ({ slot_id, bytes, cpu_ms, peak_cpu_ms })),
  }
}
