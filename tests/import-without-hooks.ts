/** Imports a library, and takes away what it hooks on this process while it loads. */

/** Resolves to what `load` imports. Listeners that the process got meanwhile, for any event, are removed. */
export async function importWithoutHooks<Module>(load: () => Promise<Module>): Promise<Module> {
  const before = new Map(process.eventNames().map((event) => [event, new Set(process.rawListeners(event))]))
  const loaded = await load()
  for (const event of process.eventNames()) {
    for (const listener of process.rawListeners(event)) {
      if (!before.get(event)?.has(listener)) process.removeListener(event, listener as () => void)
    }
  }
  return loaded
}
