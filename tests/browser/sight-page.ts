/** Judges layouts in one page, each with an ad as the renderer draws it: without a service, a request or a dwell. */
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import type { Judgement, judge } from '#renderer/host/judge/judge.ts'
import type { SightCase } from './sight-table.ts'

/** What is found of one layout: asking IntersectionObserver v2, where there is one, and without it. */
export interface Judgements {
  observed: Judgement
  unobserved: Judgement
}

export async function judgeLayouts(page: Page, cases: readonly SightCase[]): Promise<Judgements[]> {
  const source = await readFile(new URL('../../dist/renderer/judge.js', import.meta.url), 'utf8')
  // As text: the tests' runner replaces imports that it reads.
  const load = `import(URL.createObjectURL(new Blob([${JSON.stringify(source)}], { type: 'text/javascript' })))`
  await page.evaluate(`window.loadJudge = () => ${load}`)
  await page.evaluate(defineJudging)
  return page.evaluate(async (cases) => {
    const found: Judgements[] = []
    for (const each of cases) found.push(await window.judgeLayout(each))
    return found
  }, cases)
}

declare global {
  interface Window {
    loadJudge(): Promise<{ judge: typeof judge }>
    judgeLayout(layout: SightCase): Promise<Judgements>
  }
}

/** Runs in the page. */
function defineJudging(): void {
  const firstEntry = (element: Element, options: IntersectionObserverInit): Promise<IntersectionObserverEntry> =>
    new Promise((resolve) => {
      const observer = new IntersectionObserver(([entry]) => {
        observer.disconnect()
        resolve(entry!)
      }, options)
      observer.observe(element)
    })
  const drawAd = (slot: Element) => {
    const wrapper = document.createElement('div')
    wrapper.dataset.spPlacement = 'ri_1'
    wrapper.style.cssText =
      'all:initial;display:grid;width:100%;max-width:300px;font:12px/1.5 sans-serif;visibility:inherit;break-inside:avoid'
    const root = wrapper.attachShadow({ mode: 'open' })
    root.innerHTML =
      '<div data-sp-label style="all:initial;display:block;width:fit-content;margin:0 0 6px;padding:1px 8px;background:#f1f1f4;color:#3f3f46;font:inherit;visibility:inherit"><strong style="all:unset">Sponsored</strong> · Larkfield Coffee</div><iframe style="all:initial;display:block;width:300px;height:250px;background:#fff;visibility:inherit"></iframe>'
    slot.append(wrapper)
    const [label, frame] = [...root.children] as [HTMLElement, HTMLElement]
    return { wrapper, label, frame }
  }
  window.judgeLayout = async ({ html, script, viewport = null }) => {
    const section = document.createElement('section')
    section.innerHTML = html ?? '<div class="slot"></div>'
    document.body.replaceChildren(section)
    const slot = section.querySelector('.slot')!
    const { wrapper, label, frame } = drawAd(slot)
    for (const name of ['height', 'width', 'offsetTop', 'scale']) Reflect.deleteProperty(visualViewport!, name)
    Reflect.deleteProperty(screen, 'height')
    if (script) new Function('slot', 'label', 'frame', script)(slot, label, frame)
    await Promise.all(
      [...section.querySelectorAll('iframe[srcdoc]')].map(
        (each) => new Promise((resolve) => each.addEventListener('load', resolve, { once: true })),
      ),
    )
    const isV2 = 'isVisible' in IntersectionObserverEntry.prototype
    const v2 = isV2 ? await firstEntry(wrapper, { trackVisibility: true, delay: 100 } as object) : undefined
    const last = await firstEntry(frame, {})
    const judgeWith = async (isVisible: boolean | undefined): Promise<Judgement> => {
      // A new one has surveyed nothing yet.
      const part = await window.loadJudge()
      for (let attempt = 0; ; attempt += 1) {
        const found =
          last.intersectionRatio < 0.5
            ? ({ outcome: 'not_seen', reason: 'out_of_view', share: 0, check: 'none' } as const)
            : part.judge({ frame, label, last, needed: 0.5, viewport, observed: isVisible })
        // A picture may still have to be decoded.
        const isLate = found.reason === 'pending' || (found.outcome === 'unmeasured' && attempt < 3)
        if (!isLate || attempt > 40) return found
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const { isVisible } = (v2 ?? {}) as { isVisible?: boolean }
    return { observed: await judgeWith(isVisible), unobserved: await judgeWith(undefined) }
  }
}
