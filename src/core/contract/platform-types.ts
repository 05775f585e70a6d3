/**
 * The types of the platform that declarations of this package name, ours and those of zod. With lib DOM or @types/node
 * these merge with the full types; without both, a project still compiles, also when it checks its libraries.
 */
export {}

declare global {
  interface AbortSignal {
    readonly aborted: boolean
  }
  interface Blob {
    readonly size: number
  }
  interface URL {
    readonly origin: string
  }
}
