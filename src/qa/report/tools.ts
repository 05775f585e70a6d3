/** What reporters are given. They know neither the command line nor the machine; `src/commands` fills this in. */

/** Colours of one stream; an instance of chalk is one. Without colours each answers its text. */
export interface Paint {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  cyan(text: string): string
}

/** A stream that text goes to. */
export interface Sink {
  write(text: string): void
  /** Whether a person looks at it, and lines may be drawn over. */
  readonly is_terminal: boolean
  /** Width in characters at this moment; undefined when it is not a terminal. */
  readonly columns: number | undefined
  readonly paint: Paint
}

export interface ReportTools {
  /** Where a reporter without a file writes. */
  stdout: Sink
  /** Where progress and notes go: stderr. */
  progress: Sink
  /** No progress and no notes: `--quiet`. */
  quiet: boolean
  /** Epoch milliseconds, for how long a run takes so far. */
  now(): number
  /** Writes a whole file, or leaves the old one as it was; `writeReportFile` does so. */
  writeFile(path: string, content: string): Promise<void>
}

/** Where one reporter writes: a stream at once, or a file when the run has ended. */
export interface Destination {
  write(text: string): void
  /** Null of a file. */
  readonly stream: Sink | null
  readonly paint: Paint
}

/** For files, and whatever else has no colours. */
export const plain: Paint = {
  bold: (text) => text,
  dim: (text) => text,
  red: (text) => text,
  green: (text) => text,
  yellow: (text) => text,
  cyan: (text) => text,
}
