/**
 * The component of a view, which is loaded when its address is opened. Not with `lazy` of React: where it has shown that
 * something is loading, it waits 300 ms before it shows what has been loaded.
 */
import { type ComponentType, useEffect, useState } from 'react'
import { Loading } from '../parts/Shown.tsx'

interface ViewPageProps {
  /** The identifier of the address: `slot_...` of /placements/slot_...; '' on a route without one. */
  id: string
}

export interface ViewPage {
  /** Loads the component; a load that failed is tried again. */
  load(): Promise<ComponentType<ViewPageProps>>
  /** The component, once it has been loaded. */
  find(): ComponentType<ViewPageProps> | null
}

/** @param load imports the module that has the component of this name */
export function page<Name extends string>(
  load: () => Promise<Record<Name, ComponentType<ViewPageProps>>>,
  name: Name,
): ViewPage {
  let found: ComponentType<ViewPageProps> | null = null
  return {
    find: () => found,
    async load() {
      found ??= (await load())[name]
      return found
    },
  }
}

/** Shows a view, as soon as it is loaded. A failure is thrown where it is shown. */
export function LoadedView({ page, id }: ViewPageProps & { page: ViewPage }) {
  const [View, setView] = useState(page.find)
  const [failure, setFailure] = useState<{ error: unknown } | null>(null)
  useEffect(() => {
    let isShown = true
    if (page.find() === null)
      page.load().then(
        (loaded) => isShown && setView(() => loaded),
        (error: unknown) => isShown && setFailure({ error }),
      )
    return () => {
      isShown = false
    }
  }, [page])
  if (failure !== null) throw failure.error
  return View === null ? <Loading /> : <View id={id} />
}
