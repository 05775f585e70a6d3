let second = Number.NaN
let text = ''

/** `now_ms` as the Date header has it, in whole seconds. The last one is kept: many answers leave within a second. */
export function httpDate(now_ms: number): string {
  const now_s = Math.floor(now_ms / 1_000)
  if (now_s !== second) {
    second = now_s
    text = new Date(now_s * 1_000).toUTCString()
  }
  return text
}
