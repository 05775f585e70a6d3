/** The proxies of one node to all servers of its store, with one fault for all of them. */
import { type FaultyProxy, startProxy } from './proxy.ts'

/** @param store a URL of one server or several, each with its port on this computer */
export async function startStoreProxy(store: string): Promise<{ proxy: FaultyProxy; store: string }> {
  const ports = [...store.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port))
  const proxies: FaultyProxy[] = []
  for (const port of ports) proxies.push(await startProxy(port))
  const [first] = proxies
  if (first === undefined) throw new Error(`no server of this computer in ${store}`)
  let index = 0
  return {
    store: store.replaceAll(/127\.0\.0\.1:\d+/g, () => `127.0.0.1:${proxies[index++]!.port}`),
    proxy: {
      port: first.port,
      set(fault) {
        for (const proxy of proxies) proxy.set(fault)
      },
      reset: (isChosen) => proxies.reduce((sum, proxy) => sum + proxy.reset(isChosen), 0),
      retarget: first.retarget,
      async close() {
        await Promise.all(proxies.map(({ close }) => close()))
      },
    },
  }
}
