import { type RefObject, useEffect, useImperativeHandle, useRef } from 'react'
import type { JobType } from '#contract/fields.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { createProduct, type Product } from '#demo/product.ts'
import { surfaces } from '#demo/surfaces.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import type { SponsoredPlacement } from '#renderer/host/main.ts'
import type { Turn } from '#renderer/host/turn.ts'
import { currentSession } from '../../data/session.ts'

export interface ProductStageHandle {
  /** Width for a creative, CSS pixels. */
  width(): number
  /** Plays a turn of the product and clears the slot. */
  begin(topic: string, text: string): void
  /** Mounts a placement. Resolves to whether render.js is loaded. */
  mount(response: PlacementResponse, session_id: string): Promise<boolean>
}

interface ProductStageProps {
  job_type: JobType
  handle: RefObject<ProductStageHandle | null>
  /** Called when a prompt of the product is chosen or written. */
  onAsk(prompt: { topic: string; text: string }): void
  onEvent(event: RendererEvent): void
}

export function ProductStage({ job_type, handle, onAsk, onEvent }: ProductStageProps) {
  const place = useRef<HTMLDivElement>(null)
  const product = useRef<Product>(null)
  const turn = useRef<AbortController>(null)
  const latest = useRef(onAsk)
  latest.current = onAsk

  useEffect(() => {
    const created = createProduct(job_type, {
      ask: ({ topic = '', text }) => latest.current({ topic, text: topic === '' ? text : '' }),
      again: () => latest.current({ topic: '', text: '' }),
      stop: () => turn.current?.abort(),
    })
    product.current = created
    place.current?.replaceChildren(created.element)
    return () => {
      turn.current?.abort()
      window.SponsoredPlacement?.clearPlacement({ target: created.slot.target })
      created.element.remove()
    }
  }, [job_type])

  useRendererEvents(onEvent)
  useImperativeHandle(handle, () => ({
    width: () => product.current?.slot.width ?? 0,
    begin(topic, text) {
      const shown = product.current
      if (shown === null) return
      turn.current?.abort()
      window.SponsoredPlacement?.clearPlacement({ target: shown.slot.target })
      const controller = new AbortController()
      turn.current = controller
      const { prompts } = surfaces[job_type]
      const scripted = prompts.find((prompt) => prompt.topic === topic)
      const asked = text || scripted?.text || topic || prompts[0]?.text || ''
      const work = shown.begin({ ...scripted, label: asked, text: asked }, false)
      shown.setRunning(true)
      work(controller.signal)
        // A turn that was stopped rejects.
        .catch(() => undefined)
        .finally(() => {
          if (turn.current === controller) shown.setRunning(false)
        })
    },
    async mount(response, session_id) {
      const renderer = await loadRenderer()
      const slot = product.current?.slot
      if (renderer === null || slot === undefined) return false
      slot.follow(startTurn(renderer, slot.target, { session_id, response }))
      return true
    },
  }))

  return <div className="surface" ref={place} />
}

function useRendererEvents(onEvent: (event: RendererEvent) => void): void {
  const latest = useRef(onEvent)
  latest.current = onEvent
  useEffect(() => {
    let off: (() => void) | undefined
    let isShown = true
    void loadRenderer().then((renderer) => {
      if (isShown) off = renderer?.on('*', (event) => latest.current(event))
    })
    return () => {
      isShown = false
      off?.()
    }
  }, [])
}

function startTurn(renderer: SponsoredPlacement, target: Element, body: Record<string, unknown>): Turn {
  const headers = { 'x-sandbox-token': currentSession()?.token ?? '' }
  return renderer.startTurn({ target, endpoint: '/_sandbox/inspector/mounted', headers, body, keepMounted: true })
}

let loading: Promise<SponsoredPlacement | null> | undefined

function loadRenderer(): Promise<SponsoredPlacement | null> {
  loading ??= new Promise((resolve) => {
    const script = document.createElement('script')
    script.src = '/v1/render.js'
    script.onload = () => resolve(window.SponsoredPlacement ?? null)
    script.onerror = () => {
      loading = undefined
      resolve(null)
    }
    document.head.append(script)
  })
  return loading
}
