/** Keeps bodies as they stream by, up to a limit: neither an endless one nor many at once fill the memory. */

/** The part of a body that is kept: all of it, or nothing. */
export interface Capture {
  /** Bytes that came by. */
  readonly length: number
  add(chunk: Buffer): void
  /** Returns the bytes; null when there were more than are kept. */
  read(): Buffer | null
  /** Frees what it holds. */
  release(): void
}

/** What all captures hold at a time, bytes. */
const maxHeldBytes = 64 * 1_048_576

export function createCaptures(max_held = maxHeldBytes): { open(max_bytes: number): Capture } {
  let held = 0
  return {
    open(max_bytes) {
      let chunks: Buffer[] | null = []
      let length = 0
      let own = 0
      const release = () => {
        held -= own
        own = 0
        chunks = null
      }
      return {
        get length() {
          return length
        },
        add(chunk) {
          length += chunk.length
          if (chunks === null) return
          if (length > max_bytes || held + chunk.length > max_held) return release()
          chunks.push(chunk)
          own += chunk.length
          held += chunk.length
        },
        read: () => chunks && Buffer.concat(chunks),
        release,
      }
    },
  }
}
