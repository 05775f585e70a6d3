/** Whether the window is as narrow as a phone's, where style alone cannot do it. */
import { useSyncExternalStore } from 'react'

const query = matchMedia('(max-width: 760px)')

const subscribe = (listener: () => void) => {
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}

export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => query.matches)
}
