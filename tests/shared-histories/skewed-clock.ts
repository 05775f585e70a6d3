/**
 * Loaded into a node by `--import`: its clock differs from that of this computer by SKEW_MS. Only wall clocks are shifted;
 * timers and `performance.now()` are monotonic on a real computer too. A timer of NEVER_AFTER_MS, which limits a wait, never fires.
 */
const skew_ms = Number(process.env.SKEW_MS ?? 0)
const SystemDate = Date
const now = () => SystemDate.now() + skew_ms

globalThis.Date = new Proxy(SystemDate, {
  apply: () => new SystemDate(now()).toString(),
  construct: (target, values, derived) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, derived) as Date,
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
})
const started_ms = performance.timeOrigin + skew_ms
Object.defineProperty(performance, 'timeOrigin', { get: () => started_ms })

const never_ms = Number(process.env.NEVER_AFTER_MS)
const { setTimeout: start } = globalThis
const held = Object.assign(
  (work: () => void, ms?: number, ...given: unknown[]) =>
    start(ms === never_ms ? () => {} : work, ms, ...(given as [])),
  start,
)
globalThis.setTimeout = held as typeof setTimeout
